from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup import across, within
from operators.dedup.cosine import cosine_keepers, unit_vectors

Make = Callable[..., pl.DataFrame]

vectors = st.lists(
    st.none()
    | st.lists(st.sampled_from([-1.0, 0.0, 0.2, 1.0, 1.1]), min_size=3, max_size=3)
    | st.sampled_from([[0.0, 0.0, 0.0], [math.nan, 1.0, 1.0], [1e30, 1e30, 1e30]]),
    max_size=10,
)


def plainly(rows: list[list[float] | None], documents: list[int], threshold: float) -> list[int]:
    def similar(one: list[float] | None, two: list[float] | None) -> float:
        if not one or not two:
            return 0.0
        lengths = [math.sqrt(math.fsum(x * x for x in v)) for v in (one, two)]
        if not all(math.isfinite(x) and x > 0 for x in lengths):
            return 0.0
        return math.fsum(a * b for a, b in zip(one, two, strict=True)) / math.prod(lengths)

    rows = [None if row is None else np.float32(row).tolist() for row in rows]
    kept: list[int] = []
    keepers = []
    for number, row in enumerate(rows):
        for other in kept:
            if documents[number] != documents[other] and similar(row, rows[other]) >= threshold:
                keepers.append(other)
                break
        else:
            kept.append(number)
            keepers.append(number)
    return keepers


@given(vectors, st.data())
def test_the_same_copies_go_as_by_comparing_all_pairs(
    rows: list[list[float] | None], data: st.DataObject
) -> None:
    documents = data.draw(
        st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)), label="documents"
    )
    units, place = unit_vectors(pl.Series(rows, dtype=pl.List(pl.Float32)))
    keepers = cosine_keepers(
        np.zeros(len(rows)), place, units, np.array(documents), threshold=0.9501
    )
    assert keepers.tolist() == plainly(rows, documents, 0.9501)


def test_arrays_and_lists_are_read_alike() -> None:
    rows = [[3.0, 4.0], None, [0.0, 0.0]]
    for dtype in (pl.List(pl.Float32), pl.Array(pl.Float32, 2)):
        units, place = unit_vectors(pl.Series(rows, dtype=dtype))
        np.testing.assert_allclose(units, [[0.6, 0.8]])
        assert place.tolist() == [0, -1, -1]


def test_a_vector_of_another_length_is_like_nothing() -> None:
    rows = pl.Series([[1.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0]], dtype=pl.List(pl.Float32))
    units, place = unit_vectors(rows)
    assert place.tolist() == [0, -1, 1]
    assert len(units) == 2


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_chain_of_likes_loses_only_what_is_like_a_survivor(order: tuple[int, ...]) -> None:
    angles = [0.0, math.acos(0.956), 2 * math.acos(0.956)]  # the ends: cosine 0.829
    rows = pl.Series([[math.cos(angles[n]), math.sin(angles[n])] for n in order])
    units, place = unit_vectors(rows.cast(pl.List(pl.Float32)))
    keepers = cosine_keepers(np.zeros(3), place, units, np.arange(3), threshold=0.95)
    left = sorted(order[n] for n in range(3) if keepers[n] == n)
    assert left == ([1] if order[0] == 1 else [0, 2])


def test_chunks_of_one_document_stay(make_chunks: Make, make_merged: Make) -> None:
    same = [1.0, 0.0]
    chunks = make_chunks(
        {"chunk_id": 1, "document_id": "d", "embedding": same},
        {"chunk_id": 2, "document_id": "d", "embedding": same},
        {"chunk_id": 3, "document_id": "e", "embedding": same},
        {"chunk_id": 4, "document_id": "d", "repo": "other", "embedding": same},
    )
    merged = make_merged(*({"chunk_id": n, "rank": n - 1} for n in (1, 2, 3, 4)))
    found = within.cosine(merged, chunks)
    assert found.select("chunk_id", "rank", "duplicates").rows() == [(1, 0, [3, 4]), (2, 1, [])]


def test_across_corpora_the_vectors_come_from_their_chunks(
    make_chunks: Make, make_hits: Make
) -> None:
    chunks = [
        make_chunks({"chunk_id": 1, "embedding": [1.0, 0.0]}),
        make_chunks({"chunk_id": 2, "corpus": "wiki", "embedding": [1.0, 0.01]}),
    ]
    hits = make_hits(
        {"chunk_id": 2, "corpus": "wiki", "rank": 0, "source_label": "[wiki: b]"},
        {"chunk_id": 1, "rank": 1},
        {"chunk_id": 9, "rank": 2, "document_id": "z"},
    )
    found = across.cosine(hits, chunks)
    assert found["chunk_id"].to_list() == [2, 9]
    assert found["rank"].to_list() == [0, 1]
    assert found["alternate_sources"].to_list()[0][0]["source_label"] == "[code: a]"
    assert across.cosine(hits, []).height == 3


@pytest.mark.parametrize("threshold", [0, 1.01, math.nan])
def test_a_threshold_that_makes_no_sense_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="cosine threshold"):
        cosine_keepers(np.zeros(0), np.zeros(0), np.zeros((0, 2)), np.zeros(0), threshold=threshold)
