"""No pair that may be one of copies is left out at a glance."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup.similarity_index import Lookalikes, SimilarityIndex, index_similarity


def chunks(vectors: Any, texts: list[str | None] | None = None) -> pl.DataFrame:
    ids = np.arange(len(vectors))
    texts = [f"text number {n}" for n in ids] if texts is None else texts
    embedding = pl.Series("embedding", vectors, dtype=pl.List(pl.Float32))
    return pl.DataFrame({"chunk_id": ids, "text": texts, "embedding": embedding})


def pairs(
    known: list[SimilarityIndex], query_id: list[int], number: list[int], least: float
) -> set[Any]:
    rows = np.arange(len(number))
    every = np.ones(len(number), bool)
    finder = Lookalikes(np.array(query_id), np.array(number), known, least)
    better, worse = finder.pairs(rows, every, every)
    return set(zip(better.tolist(), worse.tolist(), strict=True))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 90),
    st.sampled_from([1, 2, 127, 128, 129, 384]),
    st.floats(0.0, 2.0),
    st.sampled_from([0.5, 0.9, 0.95, 1.0]),
)
def test_every_pair_of_a_high_cosine_is_found_and_no_other_by_vectors(
    seed: int, count: int, dimensions: int, spread: float, threshold: float
) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((count, dimensions)) * spread + rng.standard_normal(dimensions)
    vectors[rng.integers(0, count, count // 3)] = vectors[0] * 3
    vectors = vectors.astype(np.float32)
    exact = vectors.astype(np.float64)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    cosines = exact @ exact.T
    query_id = np.sort(rng.integers(0, 3, count))
    allowed = np.triu(np.ones((count, count), bool), 1) & (query_id[:, None] == query_id)
    must = set(map(tuple, np.argwhere(allowed & (cosines >= threshold + 1e-9)).tolist()))
    may = set(map(tuple, np.argwhere(allowed & (cosines >= threshold - 1e-9)).tolist()))
    found = pairs(
        [index_similarity(chunks(vectors))], query_id.tolist(), list(range(count)), threshold
    )
    assert must <= found <= may


def test_equal_texts_are_found_without_vectors_whatever_their_white_space() -> None:
    texts = ["one and\ttwo  three", " one  and two\nthree ", "one and two four", None, "", "  "]
    found = pairs([index_similarity(chunks([None] * 6, texts))], [0] * 6, list(range(6)), 0.95)
    assert found == {(0, 1), (3, 4), (3, 5), (4, 5)}


def test_pairs_of_other_queries_and_of_wrong_sides_are_left_out() -> None:
    known = [index_similarity(chunks([[1.0, 0.0]] * 3))]
    assert pairs(known, [0, 0, 1], [0, 1, 2], 0.9) == {(0, 1)}
    finder = Lookalikes(np.zeros(3, np.int64), np.arange(3), known, 0.9)
    first = np.array([True, False, False])
    better, worse = finder.pairs(np.arange(3), first, ~first)
    assert list(zip(better.tolist(), worse.tolist(), strict=True)) == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    "vector", [None, [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1.0], []]
)
def test_an_unusable_vector_is_near_nothing(vector: list[float] | None) -> None:
    known = [index_similarity(chunks([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0], vector, vector]))]
    assert pairs(known, [0] * 5, [0, 1, 2, 3, 4], 0.5) == {(0, 1)}


def test_corpora_are_compared_with_each_other_and_other_lengths_of_vectors_with_none() -> None:
    known = [
        index_similarity(chunks([[1.0, 1.0]], ["a"])),
        index_similarity(chunks([[2.0, 2.0]], ["b"])),
    ]
    assert pairs(known, [0, 0], [0, 1], 0.9) == {(0, 1)}
    longer = index_similarity(chunks([[1.0] * 300] * 2))
    assert pairs([*known, longer], [0] * 4, [0, 1, 2, 3], 0.9) == {(2, 3)}
    none = index_similarity(chunks([]))
    assert pairs([none, *known, none], [0, 0], [0, 1], 0.9) == {(0, 1)}
