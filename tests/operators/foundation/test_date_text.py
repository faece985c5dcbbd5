from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.foundation.date_text import DateRefused, not_in_future, parse_date


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("2021-09-29", "2021-09-29T00:00:00"),
        ("18th, Nov. 2017", "2017-11-18T00:00:00"),
        ("2020-01-01 // comment", "2020-01-01T00:00:00"),
        ("'2020-01-01 10:00'  # when it began", "2020-01-01T10:00:00"),
        ("'2025-03-13'", "2025-03-13T00:00:00"),
        ("2020-04-03T20:26:28.000Z", "2020-04-03T20:26:28"),
        ("2015-10-01 01:00:00", "2015-10-01T01:00:00"),
        ("2020-10-27T14:22", "2020-10-27T14:22:00"),
        ("2020/07/28", "2020-07-28T00:00:00"),
        ("2019.07.01", "2019-07-01T00:00:00"),
        ("2020-1-2", "2020-01-02T00:00:00"),
        ("20250315", "2025-03-15T00:00:00"),
        ("20250315T101112Z", "2025-03-15T10:11:12"),
        ("15.01.2024", "2024-01-15T00:00:00"),
        ("13/2/2024", "2024-02-13T00:00:00"),
        ("2/13/2024", "2024-02-13T00:00:00"),
        ("1618665963", "2021-04-17T13:26:03"),
        ("1618665963000", "2021-04-17T13:26:03"),
        ("February 20, 2012", "2012-02-20T00:00:00"),
        ("Feb. 20th 2012", "2012-02-20T00:00:00"),
        ("20 February 2012", "2012-02-20T00:00:00"),
        ("03-Apr-2007", "2007-04-03T00:00:00"),
        ("Tue Apr 24 14:04:08 2007", "2007-04-24T14:04:08"),
        ("Tue Apr  4 14:04:08 CEST 2007", "2007-04-04T12:04:08"),
        ("Tue, 24 Apr 2007 14:04:08 +0200 (CEST)", "2007-04-24T12:04:08"),
        ("2024-05-01 3:04 PM", "2024-05-01T15:04:00"),
        ("2024-05-01 12:04 am", "2024-05-01T00:04:00"),
        ("2017年11月23日", "2017-11-23T00:00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
    ],
)
def test_a_date_is_read_in_the_forms_that_occur(raw: str, expected: str) -> None:
    assert parse_date(raw).strftime("%Y-%m-%dT%H:%M:%S") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("2023-05-04T00:00:00-03:00", "2023-05-04T03:00:00"),
        ("2016-05-02 10:00:00 +0800", "2016-05-02T02:00:00"),
        ("2016-05-02 10:00:00 +8", "2016-05-02T02:00:00"),
        ("2023-01-29 18:30:22 2023 -0800", "2023-01-30T02:30:22"),
        ("2020-01-01 00:00 PST", "2020-01-01T08:00:00"),
        ("2025-08-29T19:53:27.501+01:00", "2025-08-29T18:53:27"),
    ],
)
def test_a_zone_is_honoured(raw: str, expected: str) -> None:
    got = parse_date(raw)
    assert got.tzinfo == UTC
    assert got.strftime("%Y-%m-%dT%H:%M:%S") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("2025", (2025, 1)),
        ("Mar 2025", (2025, 3)),
        ("2026-03", (2026, 3)),
        ("July 2001", (2001, 7)),
    ],
)
def test_h47_a_month_or_year_is_its_start_and_never_filled_from_today(
    raw: str, expected: tuple[int, int]
) -> None:
    year, month = expected
    assert parse_date(raw) == datetime(year, month, 1, tzinfo=UTC)


@pytest.mark.parametrize("raw", ["10", "v2.5", "May", "12", "3 May", "Monday", "10:30", "today"])
def test_h47_what_names_no_year_is_no_date(raw: str) -> None:
    with pytest.raises(DateRefused):
        parse_date(raw)


def test_h31_a_time_is_no_date() -> None:
    with pytest.raises(DateRefused, match="a time without a date"):
        parse_date("12:30:45")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("", "empty"),
        ("\0\0", "empty"),
        ("`r Sys.Date()`", "template"),
        ("{{ .Date }}", "template"),
        ("{docdate}", "template"),
        ("0001-01-01", "placeholder"),
        ("1970-01-01", "placeholder"),
        ("2023-02-30", "no such date"),
        ("2023-13-01", "no such date"),
        ("10/2/2024", "cannot be told apart"),
        ("2017124", "ambiguous"),
        ("last week", "not a date"),
        ("2024-05-01 10:00 XYZ", "not known"),
        ("2024-05-01 10:00 +99:00", "no such time zone"),
        ("9999-12-31T23:59:59-08:00", "outside the calendar"),
        ("2024-05-01 or so", "not a date"),
        ("1" * 100_000, "too long"),
        ("٢٠٢٤-٠٥-٠١", "not a date"),
    ],
)
def test_what_cannot_be_read_surely_is_refused_with_its_reason(raw: str, why: str) -> None:
    with pytest.raises(DateRefused, match=why):
        parse_date(raw)


def test_month_comes_before_day_only_where_the_format_says_so() -> None:
    assert parse_date("10/2/2024", us_order=True) == datetime(2024, 10, 2, tzinfo=UTC)


def test_a_date_is_trusted_up_to_one_day_ahead() -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    assert not_in_future(now + timedelta(days=1), now)
    with pytest.raises(DateRefused, match="future"):
        not_in_future(now + timedelta(days=1, seconds=1), now)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.from_regex(r"[0-9TZ:+/. -]{1,30}", fullmatch=True))
def test_any_text_is_a_moment_in_utc_or_refused(raw: str) -> None:
    try:
        got = parse_date(raw)
    except DateRefused:
        return
    assert got.utcoffset() == timedelta(0)


@settings(max_examples=100, deadline=None)
@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2900, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_iso_8601_is_read_as_python_reads_it(moment: datetime, minutes: int) -> None:
    sign = "-" if minutes < 0 else "+"
    raw = f"{moment.isoformat()}{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    assert parse_date(raw) == datetime.fromisoformat(raw)
