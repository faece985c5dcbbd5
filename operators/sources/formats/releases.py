"""The releases of a changelog: the version and the day of each of its sections.

A changelog is one document about all versions, and its sections are not versions of each other:
a statement about 2.0 stays true after 3.0.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from posixpath import basename, splitext
from typing import NamedTuple

from operators.foundation.date_text import DateRefused, parse_date
from operators.sources.formats.headings import MARKDOWN_LINK, Heading

_CHANGELOG = re.compile(
    r"change[-_ ]?logs?|changes|history|news|release[-_ ]?(?:notes|history)|releases?", re.I
)
_HEADING = re.compile(
    r"[*\s]*(?:(?P<before>[0-9]{4}-[0-9]{2}-[0-9]{2})[\s,:/–—-]+)?"
    r"(?:[\w' -]{1,40} in )?(?:(?P<name>(?!v?[0-9]|(?:version|release|v)\s)[\w.-]{1,40})\s)?"
    r"(?:(?:version|release|v)\s)?"
    r"\[?v?(?P<version>[0-9]{1,9}(?:\.[0-9]{1,9}){1,5}(?:[-.]?[a-z]{1,9}[-.]?[0-9]{0,9})?)\]?:?"
    r"(?P<after>\s*(?:[\[(,:/–—\'\"-].*|released\b.*)?)",
    re.I | re.ASCII,
)
_RELEASED = re.compile(
    r"[*_]*releas\w+(?: date| on)?[*_:]*\s+([^*_]{4,60}?)(?:, codename.*)?[*_.]*\s*", re.I
)
_BELOW = 5  # lines below a heading in which the day of the release may stand
_LONGEST = 600  # characters of a heading that are read


class Release(NamedTuple):
    """The version of a release, as written but for a ``v``, and its day; None: it is not stated."""

    version: str
    date: datetime | None


def release_sections(
    text: str, path: str, known: Sequence[Heading]
) -> tuple[list[Heading], list[Release | None]]:
    r"""The headings ``known`` of ``text``, in order, and the release of each.

    Only a changelog has releases. It has the name of one, or more than half of its headings of one
    level are versions of three numbers or with a date. Its releases are all of one level.

    >>> known = [Heading(0, 1, "Changes"), Heading(2, 2, "1.2 (2024-03-01)"), Heading(4, 3, "New")]
    >>> _, releases = release_sections("# Changes\n\n...", "a/NEWS.md", known)
    >>> [of and (of.version, f"{of.date:%Y-%m-%d}") for of in releases]
    [None, ('1.2', '2024-03-01'), ('1.2', '2024-03-01')]
    """
    sections, lines = list(known), text.split("\n")
    named = _CHANGELOG.fullmatch(splitext(basename(path))[0]) is not None
    if named and not sections:  # plain text, which has no headings else
        matched = (n for n, line in enumerate(lines) if line[:1].strip() and _release(line, []))
        sections = [Heading(n, 1, lines[n]) for n in matched]
    begins: dict[int, tuple[bool, Release]] = {}
    for index, heading in enumerate(sections):
        below = lines[heading.line + 1 : heading.line + 1 + _BELOW]
        if release := _release(heading.text, below):
            begins[index] = release
    level = min((sections[index].level for index in begins), default=0)
    # below it, a name is that of something else: "Python 3.12" among what a release supports
    begins = {p: of for p, of in begins.items() if not of[0] or sections[p].level == level}
    sure = [of for _, of in begins.values() if of.date or of.version.count(".") > 1]
    levels = {sections[index].level for index in begins}
    if not named and len(sure) * 2 <= sum(section.level in levels for section in sections):
        return sections, [None] * len(sections)
    releases: list[Release | None] = []
    current: Release | None = None
    for index, section in enumerate(sections):
        if index in begins:
            sections[index], current = section._replace(level=level), begins[index][1]
        elif section.level <= level:
            current = None
        releases.append(current)
    return sections, releases


def _release(heading: str, below: Sequence[str]) -> tuple[bool, Release] | None:
    """Whether ``heading`` has a name before its version, and the release that it begins."""
    match = _HEADING.fullmatch(MARKDOWN_LINK.sub(r"\1", heading[:_LONGEST]).strip())
    if match is None:
        return None
    texts = [match["before"] or "", *re.findall(r"\(([^()]*)\)", match["after"]), match["after"]]
    for written in [*texts, *filter(_RELEASED.fullmatch, below)]:
        date = written.strip(" \t-–—/:,[]()")
        released = _RELEASED.fullmatch(date)
        with suppress(DateRefused):
            day = parse_date(released[1] if released else date)
            return bool(match["name"]), Release(match["version"], day)
    return bool(match["name"]), Release(match["version"], None)
