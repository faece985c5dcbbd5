"""The version in a path or a file name.

Projects put a version into the path (``docs/v1.2/``, ``version-1.10/``) or the file name
(``Spark_Release_3.5.3_Apache_Spark.pdf``).
"""

import re

from operators.foundation.filename_dates import filename_date

_STAGE = r"dev|snapshot|nightly|canary|alpha|beta|milestone|m|preview|pre|rc|cr|a|b"
_TAIL = rf"(?:[-_.]?(?:{_STAGE})[-_.]?[0-9]+|[-_.]?(?:dev|snapshot|nightly|alpha|beta|rc))"
_AFTER = r"(?![0-9A-Za-z]|\.[0-9])"
_BEFORE = r"(?<![0-9A-Za-z.])"
_FLAGS = re.ASCII | re.IGNORECASE
_PARTS = r"(?:\.[0-9]{1,9})"
_VERSION = rf"(?P<v>[0-9]{{1,9}}{_PARTS}{{0,5}}(?:\.x)?{_TAIL}?)"
# v1, v1.2, V5.3.1-rc.2
_MARKED = re.compile(rf"{_BEFORE}v\.? ?{_VERSION}{_AFTER}", _FLAGS)
# release-1.2, version_3
_WORDED = re.compile(rf"{_BEFORE}(?:version|ver|release|rel)[-_. ]?{_VERSION}{_AFTER}", _FLAGS)
# 18.20.8
_LONG = re.compile(rf"{_BEFORE}(?P<v>[0-9]{{1,9}}{_PARTS}{{2,5}}{_TAIL}?){_AFTER}", _FLAGS)
# python-3.11: two numbers need a name before them, or must be the whole name
_NAMED = re.compile(
    rf"(?<=[A-Za-z][-_ ])(?P<v>[0-9]{{1,9}}{_PARTS}{{1,5}}{_TAIL}?){_AFTER}", _FLAGS
)
_ALONE = re.compile(rf"(?P<v>[0-9]{{1,9}}{_PARTS}{{1,5}}(?:\.x)?{_TAIL}?|[0-9]{{1,9}}\.x)", _FLAGS)
_NUMBERED_PART = re.compile(
    r"(?<![A-Za-z])(?:chapter|chap|ch|section|subsection|sec|part|appendix|annex|figure|fig|table"
    r"|listing|equation|eq|step|lesson|lecture|tutorial|session|unit|module|topic|slide"
    r"|exercise|ex|lab|problem|task|question|quiz|assignment|homework|hw|worksheet|example"
    r"|experiment|scenario|theorem|lemma|adr|epic|story|ticket|sprint|iteration|phase"
    r"|vol|volume|episode|week|day|page|item|no|nr|number|rule|clause|article|requirement|req"
    r")[-_ ]\Z",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.(?!(?:rc|beta|alpha|dev|x)[0-9]*\Z)[A-Za-z][A-Za-z0-9]{0,9}\Z")


def named_version(path: str | None) -> str | None:
    """The version in a path, without a leading ``v``; None: it has none.

    The name comes before a folder, and a folder before those above it.

    >>> named_version("docs/v1.2/guide.md")
    '1.2'
    """
    *folders, name = (path or "").replace("\\", "/").split("/")
    extension = _EXTENSION.search(name, 1)
    if span := _version_in(name[: extension.start()] if extension else name):
        return bare_version(name[slice(*span)])
    for folder in reversed(folders):
        if span := _version_in(folder):
            return bare_version(folder[slice(*span)])
    return None


def bare_version(version: str) -> str:
    """A version without a leading ``v`` or ``version``."""
    return re.sub(r"\A[vV](?:ersion)?[. ]?(?=[0-9])", "", version)


def _version_in(text: str) -> tuple[int, int] | None:
    """The position of the version in a name, the surest form first; a date is not a version."""
    text = text[:400]
    if match := _ALONE.fullmatch(text):
        return None if filename_date(text) else match.span("v")
    for form in (_MARKED, _WORDED, _LONG, _NAMED):
        for match in form.finditer(text):
            start = match.start("v")
            if filename_date(text[start : start + 10]):
                continue
            if form is _NAMED and _NUMBERED_PART.search(text[:start]):
                continue
            return match.span("v")
    return None
