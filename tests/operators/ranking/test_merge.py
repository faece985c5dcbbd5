"""The merge of two lists, against plain Python that says the formulas again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import UnknownName
from operators.frames import MERGED, TEXT_HITS, VECTOR_HITS, check, empty
from operators.ranking import merge

Row = tuple[int, int, int, float]  # query_id, chunk_id, rank, distance or score

rows = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(-3, 6),
        st.integers(0, 5),
        st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0, 2.0]),
    ),
    max_size=30,
)
weights = st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0])
constants = st.sampled_from([1.0, 60.0, 1e9])


def frame(found: list[Row], schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(found, schema=schema, orient="row")


def best(found: list[Row]) -> dict[tuple[int, int], tuple[int, float]]:
    """Each query's chunks at their best rank, the first of equal ones."""
    kept: dict[tuple[int, int], tuple[int, float]] = {}
    for query, chunk, rank, value in found:
        if (query, chunk) not in kept or rank < kept[query, chunk][0]:
            kept[query, chunk] = (rank, value)
    return kept


def expected(
    vector: list[Row], text: list[Row], score: Callable[[int, Any, Any], float]
) -> list[tuple[Any, ...]]:
    """MERGED as tuples; ``score`` takes a query and what the two lists have of a chunk."""
    near, words = best(vector), best(text)
    merged = []
    for key in near.keys() | words.keys():
        v, t = near.get(key), words.get(key)
        absent = (None, None)
        merged.append((*key, score(key[0], v, t), *(v or absent), *(t or absent)))

    def place(row: tuple[Any, ...]) -> tuple[Any, ...]:
        query, chunk, value, vector_rank, _, text_rank, _ = row
        last = math.inf
        return (
            query,
            -value,
            last if vector_rank is None else vector_rank,
            last if text_rank is None else text_rank,
            chunk,
        )

    merged.sort(key=place)
    ranked, seen = [], dict[int, int]()
    for row in merged:
        rank = seen.get(row[0], 0)
        seen[row[0]] = rank + 1
        ranked.append((*row[:2], rank, *row[2:]))
    return ranked


def check_equal(found: pl.DataFrame, wanted: list[tuple[Any, ...]]) -> None:
    check(found, MERGED, "merged")
    assert found.select(list(MERGED)).rows() == wanted


@given(rows, rows, constants)
def test_rrf_is_the_sum_of_reciprocal_ranks(vector: list[Row], text: list[Row], k: float) -> None:
    found = merge.rrf(frame(vector, VECTOR_HITS), frame(text, TEXT_HITS), rrf_k=k)
    check_equal(
        found,
        expected(
            vector,
            text,
            lambda _, v, t: (1 / (k + v[0]) if v else 0) + (1 / (k + t[0]) if t else 0),
        ),
    )


@given(rows, rows, constants, weights)
def test_weighted_rrf_weighs_each_list(
    vector: list[Row], text: list[Row], k: float, w: float
) -> None:
    found = merge.weighted_rrf(
        frame(vector, VECTOR_HITS), frame(text, TEXT_HITS), rrf_k=k, vector_weight=w
    )
    check_equal(
        found,
        expected(
            vector,
            text,
            lambda _, v, t: (
                w * (1 / (k + v[0]) if v else 0) + (1 - w) * (1 / (k + t[0]) if t else 0)
            ),
        ),
    )


@given(rows, rows, weights)
def test_minmax_is_a_convex_combination_of_scores_scaled_in_each_query(
    vector: list[Row], text: list[Row], w: float
) -> None:
    near = [(key[0], 1 - value) for key, (_, value) in best(vector).items()]
    words = [(key[0], value) for key, (_, value) in best(text).items()]

    def scaled(query: int, value: float, listed: list[tuple[int, float]]) -> float:
        mine = [other for owner, other in listed if owner == query]
        low, high = min(mine), max(mine)
        return 1.0 if low == high else (value - low) / (high - low)

    def score(query: int, v: Any, t: Any) -> float:
        one = scaled(query, 1 - v[1], near) if v else 0.0
        two = scaled(query, t[1], words) if t else 0.0
        return w * one + (1 - w) * two

    found = merge.convex(frame(vector, VECTOR_HITS), frame(text, TEXT_HITS), vector_weight=w)
    check_equal(found, expected(vector, text, score))


@given(rows, constants)
def test_one_list_alone_keeps_its_order(found: list[Row], k: float) -> None:
    near = merge.rrf(frame(found, VECTOR_HITS), frame([], TEXT_HITS), rrf_k=k)
    check_equal(near, expected(found, [], lambda _, v, t: 1 / (k + v[0])))
    words = merge.rrf(frame([], VECTOR_HITS), frame(found, TEXT_HITS), rrf_k=k)
    check_equal(words, expected([], found, lambda _, v, t: 1 / (k + t[0])))


@given(rows, rows, st.integers(0, 3))
def test_a_better_rank_never_lowers_a_chunk(vector: list[Row], text: list[Row], query: int) -> None:
    chunk = 100
    places = []
    for rank in (4, 0):
        near = frame([*vector, (query, chunk, rank, 0.1)], VECTOR_HITS)
        merged = merge.rrf(near, frame(text, TEXT_HITS))
        places.append(merged.filter(query_id=query, chunk_id=chunk)["rank"].item())
    assert places[1] <= places[0]


@given(rows, rows)
def test_the_rows_order_of_the_lists_does_not_matter(vector: list[Row], text: list[Row]) -> None:
    unambiguous = [(q, c, r, v) for (q, c), (r, v) in best(vector).items()]
    one = merge.convex(frame(unambiguous, VECTOR_HITS), frame(text, TEXT_HITS))
    two = merge.convex(frame(unambiguous[::-1], VECTOR_HITS), frame(text, TEXT_HITS))
    assert one.equals(two)


def test_two_empty_lists_merge_to_an_empty_one() -> None:
    for rule in (merge.rrf, merge.weighted_rrf, merge.convex):
        check_equal(rule(empty(VECTOR_HITS), empty(TEXT_HITS)), [])


def test_an_empty_merge_has_the_columns_of_one_with_rows() -> None:
    near = pl.DataFrame([(0, 1, 0, 0.5)], VECTOR_HITS, orient="row")
    some = merge.convex(near, empty(TEXT_HITS))
    assert merge.convex(empty(VECTOR_HITS), empty(TEXT_HITS)).schema == some.schema


def test_a_distance_that_is_no_number_counts_as_absent() -> None:
    near = frame([(0, 1, 0, math.nan), (0, 2, 1, 0.5)], VECTOR_HITS)
    assert merge.convex(near, empty(TEXT_HITS))["score"].is_finite().all()


@pytest.mark.parametrize("k", [0, -1, math.nan])
def test_a_constant_that_divides_by_zero_is_refused(k: float) -> None:
    with pytest.raises(ValueError, match="rrf_k must be above 0"):
        merge.rrf(empty(VECTOR_HITS), empty(TEXT_HITS), rrf_k=k)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan])
def test_a_weight_outside_of_0_to_1_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        merge.convex(empty(VECTOR_HITS), empty(TEXT_HITS), vector_weight=weight)


def test_an_unknown_normalisation_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'min_max'"):
        merge.convex(empty(VECTOR_HITS), empty(TEXT_HITS), vector_norm="minmax")
