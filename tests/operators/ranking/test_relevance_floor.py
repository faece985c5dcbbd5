"""What is too weak for a context."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.relevance_floor import above_floor

SCORES = st.lists(st.tuples(st.integers(0, 2), st.floats(-5, 5)), max_size=20)


def of(rows: list[tuple[int, float]]) -> pl.DataFrame:
    """Hits in the order of their scores."""
    hits = pl.DataFrame(rows, {"query_id": pl.UInt32, "score": pl.Float64}, orient="row")
    place = pl.col("score").rank("ordinal", descending=True).over("query_id") - 1
    return hits.with_columns(rank=place.cast(pl.UInt32))


@given(rows=SCORES, floor=st.floats(0, 1), weak=st.sets(st.integers(0, 2)))
def test_the_best_hit_of_a_query_stays_and_what_goes_is_weaker_than_what_stays(
    rows: list[tuple[int, float]], floor: float, weak: set[int]
) -> None:
    hits = of(rows).with_row_index("row")
    kept = above_floor(hits, weak, floor=floor, weak_floor=1.0)
    gone = hits.join(kept, on="row", how="anti")
    assert kept["query_id"].unique().sort().equals(hits["query_id"].unique().sort())
    for query in hits["query_id"].unique():
        stays, goes = (part.filter(query_id=query)["score"].to_list() for part in (kept, gone))
        assert max(goes, default=-9.0) < min(stays)
        if query in weak and max(stays) > 0:
            assert set(stays) == {max(stays)}


def test_where_no_score_is_above_zero_no_share_of_it_is_taken() -> None:
    hits = of([(0, -2.0), (0, -5.0)])
    assert above_floor(hits, [], floor=0.5, weak_floor=0.5).equals(hits)


def test_a_floor_of_zero_keeps_negative_scores_too() -> None:
    hits = of([(0, 2.0), (0, -1.0)])
    assert above_floor(hits, [], floor=0.0, weak_floor=1.0).equals(hits)


def test_the_first_hit_stays_even_if_one_behind_it_has_a_higher_score() -> None:
    hits = pl.DataFrame({"query_id": 0, "rank": [2, 0, 1], "score": [0.9, -1.0, -1.0]})
    assert above_floor(hits, [], floor=0.5, weak_floor=0.8).equals(hits)
