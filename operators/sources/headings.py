"""Section headings of the common text formats, so that a chunk can say which section it is from."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import PurePosixPath
from typing import NamedTuple

from markdown_it import MarkdownIt


class Heading(NamedTuple):
    """A heading: the 0-based line it starts on, its level (1 is the outermost) and its text."""

    line: int
    level: int
    text: str


_MEDIAWIKI = re.compile(r"^(={1,6})\s*(.+?)\s*\1\s*$")
_ASCIIDOC = re.compile(r"^(={1,6})\s+(\S.*?)\s*$")
_RST_RULE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_MARKDOWN = MarkdownIt("commonmark")


def headings(text: str, path: str) -> list[Heading]:
    """The headings of ``text`` in order; the format is told by the ending of ``path``.

    Markdown, MediaWiki, AsciiDoc and reStructuredText are known; anything else has no headings.
    Headings inside Markdown code fences are none.

    >>> headings("# A\\n\\ntext\\n\\n## B\\n", "guide.md")
    [Heading(line=0, level=1, text='A'), Heading(line=4, level=2, text='B')]
    """
    match PurePosixPath(path).suffix.lower():
        case ".md" | ".markdown" | ".mdx":
            return _markdown(text)
        case ".mediawiki" | ".wiki":
            return _marked(text, _MEDIAWIKI)
        case ".adoc" | ".asciidoc" | ".asc":
            return _marked(text, _ASCIIDOC)
        case ".rst":
            return _restructured(text)
        case _:
            return []


def _markdown(text: str) -> list[Heading]:
    parsed = _MARKDOWN.parse(text)
    return [
        Heading(opening.map[0], int(opening.tag[1]), inline.content.strip())
        for opening, inline in pairwise(parsed)
        if opening.type == "heading_open" and opening.map and inline.content.strip()
    ]


def _marked(text: str, pattern: re.Pattern[str]) -> list[Heading]:
    return [
        Heading(number, len(match[1]), match[2])
        for number, line in enumerate(text.split("\n"))
        if (match := pattern.match(line))
    ]


def _restructured(text: str) -> list[Heading]:
    lines = text.split("\n")
    levels: dict[str, int] = {}
    found = []
    for number in range(1, len(lines)):
        title, rule = lines[number - 1].rstrip(), lines[number].rstrip()
        if (
            title
            and not title[0].isspace()
            and _RST_RULE.match(rule)
            and not _RST_RULE.match(title)
            and len(rule) >= len(title)
        ):
            level = levels.setdefault(rule[0], len(levels) + 1)
            found.append(Heading(number - 1, level, title))
    return found
