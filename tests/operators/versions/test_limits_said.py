"""The times that a question about changes names, and what looks like one and is none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.versions.named_date import limits_said

NOW = datetime(2026, 11, 29, 14, tzinfo=UTC)  # a Sunday


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("what changed last month", "2026-10-01", "2026-10-31"),
        ("what changed in the cache last week?", "2026-11-16", "2026-11-22"),
        ("cache commits in 2025", "2025-01-01", "2025-12-31"),
        ("yesterday", "2026-11-28", "2026-11-28"),
        ("which flags were removed between March and May 2024?", "2024-03-01", "2024-05-31"),
        ("changes to the cache since March 2025", "2025-03-01", None),
        ("who worked on the cache after 2024?", "2024-01-01", None),
        ("pull requests before 2024", None, "2023-12-31"),
        ("what was renamed after 2023 and before 2025?", "2023-01-01", "2024-12-31"),
        ("Has the timeout changed in the past two weeks?", "2026-11-15", "2026-11-29"),
        ("what commits were made on 5 May 2024?", "2024-05-05", "2024-05-05"),
        ("last month's changes to the limiter", "2026-10-01", "2026-10-31"),
    ],
)
def test_a_question_about_changes_names_a_time(
    text: str, since: str | None, until: str | None
) -> None:
    limits = limits_said(text, NOW)
    assert limits is not None
    begin = limits.since and f"{limits.since:%Y-%m-%d}"
    end = limits.until and f"{limits.until:%Y-%m-%d}"
    assert (begin, end) == (since, until)
    if limits.until:  # all of its day
        assert (limits.until + timedelta(microseconds=1)).time() == datetime.min.time()


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("since v2.1", "v2.1"),
        ("what changed since v2.1?", "v2.1"),
        ("what was removed after version 3?", "version 3"),
        ("commits since 2.1.0 on the cache", "2.1.0"),
    ],
)
def test_a_question_about_changes_names_a_release(text: str, version: str) -> None:
    limits = limits_said(text, NOW)
    assert limits is not None
    assert limits[1:] == (None, None, version)


@pytest.mark.parametrize(
    "text",
    [
        "what changed in RFC 2025?",
        "what changed since python 3.12?",
        'where is "changed last month" printed?',
        "commits touching `in 2025`",
        "what was changed in 2025.md?",
        "what changed in yesterday()?",
        "how do I list the commits of last month?",
        "This was decided before 2022.",
        "The cache was changed last month.",
        "what changed in 2024 and in 2025?",
        "what was the default in 2020?",
        "Is the option deprecated since 0.21?",
        "may the march of changes begin?",
        "what was fixed after we merged the cache last month?",
        "which tables are updated today?",
        "error: file changed since 2024-01-01 00:00:00",
    ],
)
def test_what_is_no_time_of_changes_limits_nothing(text: str) -> None:
    assert limits_said(text, NOW) is None


def test_a_long_report_names_no_time() -> None:
    assert limits_said("What changed last month? " + "word " * 100, NOW) is None


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    limits_said(text, NOW)
    limits_said(f"what changed since {text}?", NOW)
