"""The factor of age."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.recency import ages, step

Make = Callable[..., pl.DataFrame]
NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("created", "factor"),
    [(NOW + TICK, 1.0), (NOW - 30 * DAY, 1.15), (NOW - 30 * DAY - TICK, 1.0), (None, 1.0)],
)
def test_both_boundaries_are_recent_and_nothing_outside_is(
    make_hits: Make, make_queries: Make, created: datetime | None, factor: float
) -> None:
    age = ages(make_hits({"created_at": created}), make_queries(), NOW)
    assert step(age).tolist() == [factor]


@given(
    st.lists(st.none() | st.datetimes(datetime(2024, 1, 1), datetime(2026, 1, 1))),
    st.integers(0, 400),
    st.floats(1, 3),
)
def test_step_follows_its_formula(
    make_hits: Make, make_queries: Make, dates: list[datetime | None], days: int, boost: float
) -> None:
    moments = [None if d is None else d.replace(tzinfo=UTC) for d in dates]
    age = ages(make_hits(*({"created_at": m} for m in moments)), make_queries(), NOW)
    plain = [None if m is None else NOW - m for m in moments]
    recent = [m is not None and timedelta(0) <= m <= days * DAY for m in plain]
    assert step(age, days=days, boost=boost).tolist() == [boost if r else 1.0 for r in recent]


def test_the_clock_is_now_else_the_querys_own_moment(make_hits: Make, make_queries: Make) -> None:
    hits = make_hits({"query_id": 0, "created_at": NOW}, {"query_id": 5, "created_at": NOW})
    queries = make_queries({"query_id": 5, "as_of": NOW + DAY}, {"query_id": 0})
    by_question = ages(hits, queries, None)
    assert by_question[1] == 86_400_000_000
    assert by_question[0] > 0  # no moment of its own: the present
    assert ages(hits, queries, NOW + 2 * DAY).tolist() == [2 * 86_400_000_000] * 2


def test_a_naive_now_is_utc_and_a_zone_is_respected(make_hits: Make, make_queries: Make) -> None:
    hits, queries = make_hits({"created_at": NOW}), make_queries()
    assert ages(hits, queries, NOW.replace(tzinfo=None)).tolist() == [0]
    there = NOW.astimezone(timezone(timedelta(hours=9)))
    assert ages(hits, queries, there).tolist() == [0]


@pytest.mark.parametrize(
    "clock", [datetime.min, datetime(1970, 1, 1), datetime(2100, 1, 1), datetime.max]
)
@pytest.mark.filterwarnings("error")
def test_a_clock_that_is_wrong_by_centuries_gives_finite_factors(
    make_hits: Make, make_queries: Make, clock: datetime
) -> None:
    moments = (None, datetime(1, 1, 1, tzinfo=UTC), NOW, datetime(9999, 12, 31, tzinfo=UTC))
    hits = make_hits(*({"created_at": moment} for moment in moments))
    age = ages(hits, make_queries(), clock)
    factor = step(age)
    assert ((factor >= 1) & (factor <= 1.15)).all()
