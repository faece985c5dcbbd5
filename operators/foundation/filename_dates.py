"""The date in a file's name, as in blogs, minutes and reports: ``2019-05-01-title.md``."""

import re

from operators.foundation.date_text import MONTH_NAMES, MONTHS, DateRefused, parse_date

_YEAR = r"(?P<y>(?:19[7-9]|20[0-9])[0-9])"
_MONTH = r"(?P<m>0[1-9]|1[0-2])"
_DAY = r"(?P<d>0[1-9]|[12][0-9]|3[01])"
_APART = r"(?<![0-9A-Za-z.])"
_END = r"(?![0-9A-Za-z]|\.[0-9])"
_FORMS = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"(?<![0-9.]){_YEAR}(?P<sep>[-_.]){_MONTH}(?P=sep){_DAY}(?![0-9]|\.[0-9])",
        rf"(?<![0-9A-Za-z.]){_YEAR}{_MONTH}{_DAY}(?![0-9]{{1,3}}(?![0-9])|[0-9]{{5}}|\.[0-9])",
        rf"{_APART}{_DAY}(?P<sep>[-_ .])(?P<n>{MONTH_NAMES})(?P=sep){_YEAR}{_END}",
        rf"{_APART}(?P<n>{MONTH_NAMES})[-_ .]{_DAY}[-_ .,]{{1,2}}{_YEAR}{_END}",
        rf"{_APART}(?P<n>{MONTH_NAMES})[-_ .]?{_YEAR}{_END}",
        rf"{_APART}{_YEAR}[-_]{_MONTH}(?![-_]?[0-9]|[A-Za-z]|\.[0-9])",
    )
)
_FOLDERS = re.compile(rf"(?:^|/){_YEAR}/{_MONTH}/(?:{_DAY}/)?[^/]*\Z", re.ASCII)


def filename_date(path: str) -> str | None:
    """The date in the name of a file, or in folders ``2019/05/`` or ``2019/05/01/`` right above it.

    Returns ``YYYY-MM-DD`` or ``YYYY-MM``, or None. Ambiguous forms are None: a year alone, a
    two-digit year, day and month in numbers before the year. A number with a dot after it is a
    version.

    >>> filename_date("_posts/2019-05-01-#15557.md")
    '2019-05-01'
    """
    whole = path.replace("\\", "/")
    name = whole.rpartition("/")[2]
    for form in _FORMS:
        for match in form.finditer(name):
            if date := _date(match):
                return date
    folders = _FOLDERS.search(whole)
    return _date(folders) if folders else None


def _date(match: re.Match[str]) -> str | None:
    part = match.groupdict()
    month = part.get("m") or f"{MONTHS[part['n'].lower()]:02}"
    raw = "-".join(p for p in (part["y"], month, part.get("d")) if p)
    try:
        parse_date(raw)
    except DateRefused:
        return None
    return raw
