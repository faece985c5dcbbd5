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
        ("what changed this week", "2026-11-23", "2026-11-29"),
        ("commits in 2025 on the cache", "2025-01-01", "2025-12-31"),
        ("cache commits in 2025", "2025-01-01", "2025-12-31"),
        ("commits of the last 3 days", "2026-11-26", "2026-11-29"),
        ("what did we merge yesterday?", "2026-11-28", "2026-11-28"),
        ("yesterday", "2026-11-28", "2026-11-28"),
        ("what happened 3 days ago", "2026-11-26", "2026-11-26"),
        ("which flags were removed between March and May 2024?", "2024-03-01", "2024-05-31"),
        ("what changed between 2023 and 2024?", "2023-01-01", "2024-12-31"),
        ("reviews from March 2024 to 5 May 2024", "2024-03-01", "2024-05-05"),
        ("changes to the cache since March 2025", "2025-03-01", None),
        ("What has been added since 2025-03-01?", "2025-03-01", None),
        ("what is new in the limiter since 2 weeks ago", "2026-11-15", None),
        ("who worked on the cache after 2024?", "2024-01-01", None),
        ("pull requests before 2024", None, "2023-12-31"),
        ("what was reverted before March 2024?", None, "2024-02-29"),
        ("issues closed up to 2024-06", None, "2024-06-30"),
        ("what was renamed after 2023 and before 2025?", "2023-01-01", "2024-12-31"),
        ("Why was the retry removed in May 2024?", "2024-05-01", "2024-05-31"),
        ("list the pull requests of last year", "2025-01-01", "2025-12-31"),
        ("show me the discussions on deadlines during 2024", "2024-01-01", "2024-12-31"),
        ("Has the timeout changed in the past two weeks?", "2026-11-15", "2026-11-29"),
        ("did anyone change the parser yesterday?", "2026-11-28", "2026-11-28"),
        ("how did the cache change in 2025?", "2025-01-01", "2025-12-31"),
        ("how many commits touched the cache last year", "2025-01-01", "2025-12-31"),
        ("where was the limit changed in 2024?", "2024-01-01", "2024-12-31"),
        ("are there commits from last week about tokens?", "2026-11-16", "2026-11-22"),
        ("What was fixed this year in `cache.py`?", "2026-01-01", "2026-12-31"),
        ("commits in 2025 touching the cache", "2025-01-01", "2025-12-31"),
        ("what commits were made on 5 May 2024?", "2024-05-05", "2024-05-05"),
        ("what was merged on 2025-03-01", "2025-03-01", "2025-03-01"),
        ("last month's changes to the limiter", "2026-10-01", "2026-10-31"),
        ("what are the latest changes of last week?", "2026-11-16", "2026-11-22"),
        ("what has changed since yesterday's release?", "2026-11-28", None),
        ("what's new this week in the cache?", "2026-11-23", "2026-11-29"),
        ("what's been fixed since 2025?", "2025-01-01", None),
        ("what tests were added in 2025?", "2025-01-01", "2025-12-31"),
        ("which files changed most in 2025?", "2025-01-01", "2025-12-31"),
        ("The cache is slow. What changed in the last 2 months?", "2026-09-29", "2026-11-29"),
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
        "what does RFC 2025 say about changes?",
        "what changed in RFC 2025?",
        "what changed in 2025 lines?",
        "what changed in 2000 requests per second",
        "copyright 2025",
        "The expiry was wrong. What prevents it in the code of today, and what fixed it?",
        "which changes does the copyright 2025 header need?",
        "python 3.12",
        "what changed since python 3.12?",
        'where is "changed last month" printed?',
        'which commits say "since 2025"',
        "which commits say 'fixed in 2024'?",
        "commits touching `in 2025`",
        "what was changed in 2025.md?",
        "commits in reports/2025/may.md",
        "what changed in last_month_view?",
        "what changed in yesterday.py?",
        "what changed in yesterday()?",
        "how is last month computed?",
        "how do I list the commits of last month?",
        "how are commits since yesterday counted?",
        "where is the list of changes since 2024 made?",
        "which function returns commits since yesterday?",
        "does the report show changes since last week?",
        "can I see the commits of last year?",
        "This was decided before 2022.",
        "Fix what was changed in 2024",
        "Remove code that was added in 2019",
        "Update the copyright years for releases in 2025",
        "The cache was changed last month.",
        "what changed compared to last month?",
        "what changed other than last month?",
        "what changed in 2024 and in 2025?",
        "what changed in the last month of the subscription?",
        "what changed in the last month view?",
        "why is the merge queue stuck since yesterday?",
        "what was the default in 2020?",
        "How did it work before 2022?",
        "Is the option deprecated since 0.21?",
        "What happened in issue 2021?",
        "what changed on port 2025?",
        "what changed since #2025?",
        "how long are commits kept: 30 days ago or more?",
        "may the march of changes begin?",
        "what changed since March?",
        "what changed at 2025-03-01T10:00?",
        "what happens to files changed since last week in incremental mode?",
        "what was merged on 2025?",
        "what does the job do with rows deleted last month?",
        "git log last month",
        "what changed since the beginning of 2025?",
        "what changed by the end of 2024?",
        "what changed after the outage in June 2025?",
        "what was changed because of the outage on 2025-06-12?",
        "what was changed by the incident of 2025-06-12?",
        "what was fixed after we merged the cache last month?",
        "what changed before yesterday's deploy?",
        "what fixed the bug that was introduced in 2023?",
        "who fixed the bug reported in 2024?",
        "what replaced the module removed in 2024?",
        "is anything to be dropped in 2027?",
        "what code handles orders changed in the last 30 days?",
        "what selects users added today?",
        "which service emails users added yesterday?",
        "which tables are updated today?",
        "what is returned for records updated today?",
        "what is the retention of logs changed 30 days ago?",
        "what's the query to get users added last week?",
        "what is used instead of the client removed in 2024?",
        "How did the release process work in 2022?",
        "error: file changed since 2024-01-01 00:00:00",
        "what was decided about retries in March 2024?",
        "where was the limit discussed in 2024?",
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
