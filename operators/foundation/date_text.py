"""Parses dates as people and programs write them, without guessing.

A parser that fills missing parts from today's date makes every undated document new. This parser
accepts the forms below and refuses the rest with a reason; a month or a year alone means its start.

- ISO 8601 and its looser relatives: ``2020-04-03T20:26:28.000Z``, ``2015-10-01 01:00``,
  ``2020/07/28``, ``2019.07.01``, ``20250315``, ``2026-03``, ``2025``
- with the month's English name: ``February 20, 2012``, ``3 Apr 2007``, ``03-Apr-2007``,
  ``03/Apr/07``, ``July 2001``, e-mail dates and ``ctime`` (``Tue Apr 24 14:04:08 2007``)
- the day first with dots (``15.01.2024``); with slashes or dashes only where one of the two
  numbers cannot be a month, because ``10/2/2024`` is two dates
- ``2017年11月23日`` and ``2017년 11월 23일``
- seconds or milliseconds since 1970

A comment behind a date (``2020-01-01 // comment``) is left out.

A value without a zone is UTC. Zones are an offset, ``Z``, ``UTC``, ``GMT`` or an abbreviation that
means one offset only.
"""

import functools
import re
from datetime import UTC, datetime, timedelta, timezone

from operators.errors import CrosscorpusError

EARLIEST = datetime(1970, 1, 3, tzinfo=UTC)
"""An earlier date is a placeholder: the Unix epoch in any zone, the year 1, a zeroed field."""

FUTURE_ALLOWED = timedelta(days=1)
"""Clocks and zones differ that much; a later date is a pin, a typing error or a wrong clock."""

_MAX_LENGTH = 80
MONTHS = {
    "january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4,
    "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9,
    "sept": 9, "sep": 9, "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12,
    "dec": 12,
}  # fmt: skip
_HOURS = {
    "z": 0, "utc": 0, "gmt": 0, "wet": 0, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3,
    "jst": 9, "kst": 9, "edt": -4, "est": -5, "cdt": -5, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8,
}  # fmt: skip

MONTH_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_MONTH = rf"(?P<month>{MONTH_NAMES})\b\.?"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?,? )?"
_DAY = r"(?P<d>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<y>[0-9]{4})(?![0-9])"
_TIME = (
    r"(?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?)?"
)
_ZONE = r"(?P<zone>[a-z]{1,5}|[+-][0-9]{1,2}(?::?[0-9]{2})?)(?: \([a-z ]{1,40}\))?"
# Some tools repeat the year after the time.
_REST = rf"(?:(?:t|,? | at ){_TIME}(?: (?P=y))?(?: ?{_ZONE})?)?"


_FORMS = (
    r"(?P<y>[0-9]{4})(?P<sep>[-/.])(?P<m>[0-9]{1,2})(?P=sep)(?P<d>[0-9]{1,2})(?![0-9])" + _REST,
    r"(?P<y>[0-9]{4})[-/](?P<m>[0-9]{1,2})",
    r"(?P<y>[0-9]{4})",
    r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})" + _REST,
    r"(?P<y>[0-9]{4})(?P<m>[0-9]{2})(?P<d>[0-9]{2})t?"
    rf"(?P<H>[0-9]{{2}})(?P<M>[0-9]{{2}})(?P<S>[0-9]{{2}})?(?: ?{_ZONE})?",
    r"(?P<d>[0-9]{1,2})\. ?(?P<m>[0-9]{1,2})\. ?(?P<y>[0-9]{4})(?![0-9])" + _REST,
    r"(?P<a>[0-9]{1,2})(?P<sep>[-/])(?P<b>[0-9]{1,2})(?P=sep)(?P<y>[0-9]{4})(?![0-9])" + _REST,
    rf"{_WEEKDAY}{_MONTH}(?: {_DAY})?,? {_YEAR}{_REST}",
    rf"{_WEEKDAY}{_DAY}[.,]?[ -](?:of )?{_MONTH},?[ -]{_YEAR}{_REST}",
    rf"{_DAY}/{_MONTH}/(?P<y>[0-9]{{4}}|[0-9]{{2}})(?![0-9]){_REST}",
    rf"(?P<y>[0-9]{{4}})[ -]{_MONTH}(?:[ -]{_DAY}(?![0-9]))?{_REST}",
    rf"{_WEEKDAY}{_MONTH} {_DAY} {_TIME}(?: {_ZONE})? {_YEAR}",
    r"(?P<y>[0-9]{4}) ?[年년] ?(?P<m>[0-9]{1,2}) ?[月월](?: ?(?P<d>[0-9]{1,2}) ?[日일])?",
)
_EPOCH = re.compile(r"([0-9]{9,10})(?:\.[0-9]{1,9})?|([0-9]{12,13})", re.ASCII)
_COMMENT = re.compile(r"""(?<=[0-9'"]) (?://|#).*""")


@functools.cache
def _forms() -> list[re.Pattern[str]]:  # compiled for the first date: queries need none
    return [re.compile(form, re.IGNORECASE | re.ASCII) for form in _FORMS]


class DateRefused(CrosscorpusError, ValueError):
    """A text is no usable date; the message states the reason briefly."""


class PlaceholderDate(DateRefused):
    """It is before ``EARLIEST``: a field that nobody filled in."""


def parse_date(raw: str, *, us_order: bool = False) -> datetime:
    """The time in UTC that ``raw`` names; for a month or a year, its start.

    Args:
        raw: one value of the file; quotes and outer space are ignored.
        us_order: month before day in ``10/2/2024``, for a format with that rule.

    >>> parse_date("2023-05-04T00:00:00-03:00").isoformat()
    '2023-05-04T03:00:00+00:00'
    >>> parse_date("Mar 2025").isoformat()
    '2025-03-01T00:00:00+00:00'

    Raises:
        DateRefused: it is no date, is ambiguous, or is before 1970-01-03 (a placeholder).
    """
    if len(raw) > 4 * _MAX_LENGTH:
        raise DateRefused("too long for a date")
    text = _COMMENT.sub("", " ".join(raw.replace("\0", " ").split())).strip(" \ufeff'\"")
    if not text:
        raise DateRefused("empty")
    if len(text) > _MAX_LENGTH:
        raise DateRefused("too long for a date")
    if not text.isascii() and not re.search("[年년]", text):
        raise DateRefused("not a date in a form that is read")
    if match := next((m for form in _forms() if (m := form.fullmatch(text))), None):
        return plausible(_from_match(match, us_order))
    if match := _EPOCH.fullmatch(text):
        seconds = int(match[1]) if match[1] else int(match[2]) // 1000
        return plausible(datetime.fromtimestamp(seconds, UTC))
    if text.isdigit():
        raise DateRefused(f"{len(text)} digits: ambiguous")
    raise DateRefused("not a date in a form that is read")


def plausible(moment: datetime) -> datetime:
    """``moment`` in UTC, if a document can have been written then.

    Raises:
        DateRefused: before 1970-01-03, or outside the calendar when taken to UTC.
    """
    try:
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except OverflowError:
        raise DateRefused("outside the calendar") from None
    if moment < EARLIEST:
        raise PlaceholderDate("before 1970-01-03: a placeholder")
    return moment


def not_in_future(moment: datetime, now: datetime) -> datetime:
    """``moment``, if it is at most one day after ``now``.

    Raises:
        DateRefused: it is later: a pin, a typing error or a wrong clock.
    """
    if moment > now + FUTURE_ALLOWED:
        raise DateRefused("in the future: not trusted")
    return moment


def offset(text: str | None) -> timezone:
    """The zone named by ``Z``, ``+02:00``, ``+0200``, ``+2`` or an unambiguous abbreviation.

    Raises:
        DateRefused: an unknown name, or no offset that exists.
    """
    if not text:
        return UTC
    if text[0] not in "+-":
        hours = _HOURS.get(text.lower())
        if hours is None:
            raise DateRefused(f"time zone {text!r} is not known")
        return timezone(timedelta(hours=hours))
    digits = text[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) < 3 else (int(digits[:-2]), int(digits[-2:]))
    if hours > 15 or minutes > 59:
        raise DateRefused(f"no such time zone: {text}")
    span = timedelta(hours=hours, minutes=minutes)
    return timezone(-span if text[0] == "-" else span)


def _from_match(match: re.Match[str], us_order: bool) -> datetime:
    part = match.groupdict()
    year = int(part["y"]) + 2000 * (len(part["y"]) == 2)
    if part.get("a"):
        month, day = _month_and_day(int(part["a"]), int(part["b"]), us_order)
    else:
        name = part.get("month")
        month = MONTHS[name.lower()] if name else int(part.get("m") or 1)
        day = int(part.get("d") or 1)
    hour, minute = int(part.get("H") or 0), int(part.get("M") or 0)
    if half := part.get("half"):
        if not 1 <= hour <= 12:
            raise DateRefused("no such time of day")
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    second = min(int(part.get("S") or 0), 59)  # a leap second has no datetime of its own
    micro = int((part.get("f") or "0")[:6].ljust(6, "0"))
    try:
        moment = datetime(year, month, day, hour, minute, second, micro)
    except ValueError as exc:
        raise DateRefused(f"no such date: {exc}") from None
    return moment.replace(tzinfo=offset(part.get("zone")))


def _month_and_day(first: int, second: int, us_order: bool) -> tuple[int, int]:
    if us_order or second > 12:
        return first, second
    if first > 12 or first == second:
        return second, first
    raise DateRefused("day and month cannot be told apart")
