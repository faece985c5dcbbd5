from __future__ import annotations

import math

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from representatives import representatives

from operators.dedup.cosine import cosine_representatives, unit_vectors

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
    return representatives(
        len(rows),
        lambda a, b: documents[a] != documents[b] and similar(rows[a], rows[b]) >= threshold,
    )


@given(vectors, st.data())
def test_the_same_duplicates_go_as_by_comparing_all_pairs(
    rows: list[list[float] | None], data: st.DataObject
) -> None:
    documents = data.draw(
        st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)), label="documents"
    )
    units = unit_vectors(pl.Series(rows, dtype=pl.List(pl.Float32)))
    number = np.arange(len(rows))
    representative = cosine_representatives(
        np.zeros(len(rows)), number, units, np.array(documents), threshold=0.9501
    )
    assert representative.tolist() == plainly(rows, documents, 0.9501)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 90),
    st.sampled_from([1, 2, 127, 384]),
    st.floats(0.0, 2.0),
    st.sampled_from([0.5, 0.9, 0.95, 1.0]),
)
def test_the_best_row_that_stays_and_is_near_represents_a_row(
    seed: int, count: int, dimensions: int, spread: float, threshold: float
) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, dimensions)) * spread + rng.standard_normal(dimensions)
    vectors[rng.integers(0, count, count // 3)] = vectors[0] * 3
    units = unit_vectors(pl.Series(vectors.tolist(), dtype=pl.List(pl.Float32)))
    query_id = np.sort(rng.integers(0, 3, count))
    every = np.arange(count)
    representative = cosine_representatives(query_id, every, units, every, threshold=threshold)
    stays = representative == every
    cosines = units @ units.T
    for row, best in enumerate(representative.tolist()):
        better = np.flatnonzero(stays[:row] & (query_id[:row] == query_id[row]))
        before = better[better < best]
        assert not (cosines[row, before] >= threshold).any()
        assert best == row or (stays[best] and cosines[row, best] >= threshold - 1e-9)
