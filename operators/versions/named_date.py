"""The dates in a query: "before 2022", "as of March 2021". Today's date fills in nothing."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from operators.foundation.date_text import MONTH_NAMES, DateRefused, parse_date
from operators.versions.asking import words

_DATE = re.compile(
    rf"""\b(?P<when>before|prior\s+to|until|till|up\s+to|as\s+of|as\s+at|in|during|by|at)\s+
    (?:the\s+)?(?:(?P<edge>start|beginning|end)\s+of\s+)?(?:the\s+year\s+)?
    (?P<date>(?:19|20)[0-9]{{2}}-(?P<m>[0-9]{{2}})(?P<d>-[0-9]{{2}})?
    |(?:(?P<d1>[0-9]{{1,2}}(?:st|nd|rd|th)?\s+)?(?P<month>{MONTH_NAMES})\.?\s+
    (?P<d2>[0-9]{{1,2}}(?:st|nd|rd|th)?,?\s+)?)?(?:19|20)[0-9]{{2}})
    (?![\w%]|[-./:]\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_AFTER_A_YEAR = words(
    """and or but nor so if because as than then when while where who what which how why that this
    the a an i we you they it he she there to for from with without on in at of by about before
    after during since until was were is are has have had did do does could would should compared
    versus vs vs. already still"""
)
"""Words that may follow a year; before another word the number is a count: "in 2000 requests"."""


def named_dates(sentence: str) -> Iterator[tuple[re.Match[str], datetime]]:
    """Each date of ``sentence`` with its preposition, and the first moment after it."""
    for match in _DATE.finditer(sentence):
        if (until := _until(match)) is not None:
            yield match, until


def _until(match: re.Match[str]) -> datetime | None:
    """The first moment after the date in ``match``; None: it is no date."""
    when, by_day = match["when"].lower(), match["d"] or match["d1"] or match["d2"]
    by_month = match["month"] or match["m"]
    if not by_month and not match["edge"]:
        follows = re.match(r"\s+([^\W\d_]\S*)", match.string[match.end() :])
        word = follows[1].rstrip(",;:?!)").lower() if follows else ""
        if when in ("at", "by") or (word and word not in _AFTER_A_YEAR):
            return None
    try:
        begin = parse_date(match["date"])
    except DateRefused:
        return None
    early = when.startswith(("before", "by", "until", "till", "prior"))
    if match["edge"]:
        early = match["edge"].lower() != "end"
    if early:
        return begin
    if by_day:
        return begin + timedelta(days=1)
    if by_month:
        return (begin + timedelta(days=31)).replace(day=1)
    return begin.replace(year=begin.year + 1)
