"""The time that a text names, with its first and its last moment, in UTC.

Here, unlike in :mod:`operators.foundation.date_text`, a time may be relative to today: who asks
means the day on which he asks, and a document does not.
"""

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from operators.foundation.date_text import MONTH_NAMES, DateRefused, parse_date

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_COUNTED = rf"({'|'.join(_NUMBERS)}|[0-9]{{1,4}})\s+(day|week|month|year)s?"
RELATIVE = (
    rf"today|yesterday|{_COUNTED}\s+ago|(?:last|past)\s+{_COUNTED}|(?:this|last)\s+"
    r"(?:week|month|year)"
)
"""The regular expression of a time that depends on today."""

_AGO = re.compile(rf"{_COUNTED} ago")
_LATELY = re.compile(rf"(?:last|past) {_COUNTED}")
_CALENDAR = re.compile(r"(this|last) (week|month|year)")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_MONTH = re.compile(rf"[0-9]{{4}}-[0-9]{{1,2}}|(?:{MONTH_NAMES})\.? [0-9]{{4}}")
_TIME_OF_DAY = re.compile(r"[0-9][t ][0-9]{1,2}:[0-9]{2}")


def span_of(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """The first and the last moment of the time that ``text`` names; None: it names none.

    A week begins on Monday. A moment with a time of day is both its first and its last one.

    >>> day = datetime(2026, 11, 29, 14, tzinfo=UTC)
    >>> for text in ("last month", "2025", "March 2025", "2 weeks ago", "last 3 days", "last week"):
    ...     print("{:%Y-%m-%d} to {:%Y-%m-%d}".format(*span_of(text, day)))
    2026-10-01 to 2026-10-31
    2025-01-01 to 2025-12-31
    2025-03-01 to 2025-03-31
    2026-11-15 to 2026-11-15
    2026-11-26 to 2026-11-29
    2026-11-16 to 2026-11-22
    >>> span_of("some day", day)
    """
    plain = " ".join(text.lower().split()).removeprefix("the ")
    try:
        if _TIME_OF_DAY.search(plain):
            moment = datetime.fromisoformat(text.strip())
            return moment, moment
        begin, end = _limits(plain, now.astimezone(UTC))
    except (DateRefused, ValueError, OverflowError):
        return None
    return begin, end - timedelta(microseconds=1)


def _limits(plain: str, now: datetime) -> tuple[datetime, datetime]:
    """The first moment of the time that ``plain`` names, and the first one after it.

    Raises:
        DateRefused, ValueError, OverflowError: it names none.
    """
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if plain in ("today", "yesterday"):
        begin, unit = _later(today, "day", -(plain == "yesterday")), "day"
    elif match := _AGO.fullmatch(plain) or _LATELY.fullmatch(plain):
        count = _NUMBERS.get(match[1]) or int(match[1])
        begin, unit = _later(today, match[2], -count), "day"
        if not plain.endswith("ago"):
            return begin, _later(today, "day", 1)
    elif match := _CALENDAR.fullmatch(plain):
        unit, monday = match[2], _later(today, "day", -today.weekday())
        starts = {
            "week": monday,
            "month": today.replace(day=1),
            "year": today.replace(month=1, day=1),
        }
        begin = _later(starts[unit], unit, -(match[1] == "last"))
    else:
        unit = "year" if _YEAR.fullmatch(plain) else "month" if _MONTH.fullmatch(plain) else "day"
        begin = parse_date(plain)
    return begin, _later(begin, unit, 1)


def _later(day: datetime, unit: str, count: int) -> datetime:
    """``day`` and ``count`` units more; a month that lacks the day has its last one."""
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return day.replace(year=year, month=month, day=min(day.day, monthrange(year, month)[1]))
