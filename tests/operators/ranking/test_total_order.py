from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.total_order import cut, ranked, ranked_in_corpora

Make = Callable[..., pl.DataFrame]
KINDS = (pl.UInt32, pl.Float64, pl.UInt32, pl.UInt32, pl.Int64)


@pytest.mark.parametrize(("top_k", "left"), [(1, 2), (10**9, 3)])
def test_the_cut_leaves_the_best_of_each_query(make_hits: Make, top_k: int, left: int) -> None:
    hits = make_hits(
        {"query_id": 1, "rank": 1, "chunk_id": 3},
        {"query_id": 1, "rank": 0, "chunk_id": 4},
        {"query_id": 0, "rank": 0, "chunk_id": 5},
    )
    found = cut(hits, top_k)
    assert found["chunk_id"].to_list() == [5, 4, 3][:left]


def test_a_negative_cut_is_refused(make_hits: Make) -> None:
    with pytest.raises(ValueError, match="top_k"):
        cut(make_hits({}), -1)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["wiki", "code"]),
            st.integers(0, 2),
            st.integers(0, 9),
            st.sampled_from([0.5, 0.25, math.nan]),
            st.none() | st.integers(0, 2),
        ),
        max_size=25,
        unique_by=lambda row: row[:3],
    )
)
def test_each_corpus_is_ranked_by_itself(rows: list[tuple[Any, ...]]) -> None:
    names = ["corpus", "query_id", "chunk_id", "value", "vector_rank"]
    kinds = (pl.String, pl.UInt32, pl.Int64, pl.Float64, pl.UInt32)
    frame = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    frame = frame.with_columns(text_rank=pl.lit(None, pl.UInt32))
    found = ranked_in_corpora(frame, pl.col("value"))
    alone = [ranked(frame.filter(corpus=name), pl.col("value")) for name in ("code", "wiki")]
    assert found.equals(pl.concat(alone))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3) | st.integers(0, 2**24),
            st.sampled_from([0.5, 0.5 + 2**-50, 1 / 61, -0.25, 0.0, math.nan]) | st.floats(-1, 2),
            st.none() | st.integers(0, 3),
            st.none() | st.integers(0, 3),
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([1, 300]),
    st.randoms(use_true_random=False),
)
def test_few_and_many_rows_are_in_the_one_order_and_no_number_comes_last(
    rows: list[tuple[Any, ...]], at_least: int, random: Any
) -> None:
    rows = (rows * at_least)[: max(len(rows), at_least)]
    chunk = random.sample(range(1000), len(rows))
    names = ["query_id", "score", "vector_rank", "text_rank", "chunk_id"]
    given_rows = [(*row, one) for row, one in zip(rows, chunk, strict=True)]
    frame = pl.DataFrame(given_rows, schema=dict(zip(names, KINDS, strict=True)), orient="row")

    def last(value: float | None) -> float:
        return math.inf if value is None or math.isnan(value) else value

    found = ranked(frame, pl.col("score"))
    expected = sorted(given_rows, key=lambda row: (row[0], last(-row[1]), *map(last, row[2:])))
    assert found["chunk_id"].to_list() == [row[-1] for row in expected]
