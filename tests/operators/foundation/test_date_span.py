"""The times that people write, with their first and their last moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.date_span import span_of

NOW = datetime(2026, 3, 31, 9, tzinfo=UTC)  # a Tuesday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2025-03", "2025-03-01", "2025-03-31"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("5 May 2020", "2020-05-05", "2020-05-05"),
        ("today", "2026-03-31", "2026-03-31"),
        ("last  month", "2026-02-01", "2026-02-28"),
        ("last week", "2026-03-23", "2026-03-29"),
        ("2 years ago", "2024-03-31", "2024-03-31"),
        ("the last 7 days", "2026-03-24", "2026-03-31"),
    ],
)
def test_a_time_has_a_first_and_a_last_moment(text: str, first: str, last: str) -> None:
    begin, end = span_of(text, NOW) or (NOW, NOW)
    assert (begin, end) == (
        datetime.fromisoformat(first).replace(tzinfo=UTC),
        datetime.fromisoformat(last).replace(tzinfo=UTC) + timedelta(days=1, microseconds=-1),
    )


def test_a_time_of_day_is_a_moment() -> None:
    moment = datetime(2026, 11, 23, 12, tzinfo=UTC)
    assert span_of("2026-11-23T14:00+02:00", NOW) == (moment, moment)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2025-13", "v2.1", "March", "9999 years ago", "0x2025", "last", "12/11/2020"],
)
def test_what_names_no_time_has_no_span(text: str) -> None:
    assert span_of(text, NOW) is None


@given(
    st.text(max_size=40) | st.from_regex(r"[0-9]{1,4} (day|week|month|year)s ago", fullmatch=True)
)
def test_no_text_breaks_it(text: str) -> None:
    begin, end = span_of(text, NOW) or (NOW, NOW)
    assert begin.replace(tzinfo=UTC) <= end.replace(tzinfo=UTC)
