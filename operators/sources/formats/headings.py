"""Section headings of the common text formats, so that a chunk can name its section."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from itertools import pairwise
from posixpath import splitext
from typing import NamedTuple

from operators.embedding.passage import MAX_HEADING
from operators.foundation.front_matter import front_matter_lines
from operators.foundation.markdown_blocks import markdown_blocks
from operators.sources.formats.languages import CONVERTED, MARKDOWN, prose_format


class Heading(NamedTuple):
    """A heading: the 0-based line it starts on, its level (1 is the outermost) and its text."""

    line: int
    level: int
    text: str


MARKDOWN_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^)\s]*(?:[ \t][^)]*)?\)")
_ASCIIDOC = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ASCIIDOC_FENCE = re.compile(r"-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|\*{4,}|_{4,}|```\S*|--|[|!,:]={3,}")
"""A line that opens an AsciiDoc block; the same line (of back-ticks the first three) closes it."""

_ASCIIDOC_RULES = "=-~^+"
_DERIVED = re.compile(r"(#{1,6}) (\S.*)")
_RST_RULE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_TITLE_LINES = 100
_HTML_HEADING = re.compile(r"<(/?)h([1-6])\b[^<>]*>", re.I)
_TAG = re.compile(r"<[^<>]{0,4000}>")
_ALT = re.compile(r"""<img\b[^<>]*?\balt=(["'])([^<>]*?)\1""", re.I)
_ORG = re.compile(r"(?:#\+title:|(\*+))[ \t]+(\S.*)", re.I)

MDX = ".mdx"
"""The ending of Markdown with components."""


def section_of(starts: Sequence[int], first: int, body: str) -> int | None:
    """The section that a piece of a document has most text of; the piece is named after it.

    Args:
        starts: the lines that the document's sections start on.
        first: the 0-based line that the piece starts on.
        body: its text. Headings and front matter are no text of a section.

    Returns:
        An index into ``starts``; the first for a piece before all, if it starts in that; else None.

    >>> section_of([0, 2], 0, "# Guide\\n\\n## Use\\n\\ntext"), section_of([4], 0, "text\\n")
    (1, None)
    """
    lines = body.split("\n")
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    skipped = front_matter_lines(body) if first == 0 else 0
    begin, end = bisect_left(starts, first), bisect_left(starts, first + len(lines))
    titles = set(starts[begin:end])
    written = [number for number, line in enumerate(lines, first) if line.strip()]
    length = Counter[int]()  # of ties the first section counts
    for line in written:
        if line - first >= skipped and line not in titles and is_text(lines[line - first]):
            length[bisect_right(starts, line) - 1] += len(lines[line - first].strip())
    nothing = bisect_right(starts, written[0] if written else first) - 1
    section = max(length, key=lambda one: length[one]) if length else nothing
    return section if section >= 0 else 0 if end else None


def is_text(line: str) -> bool:
    """Whether a line has content; a rule under a title has none."""
    return any(map(str.isalnum, line))


def headings(text: str, path: str) -> list[Heading]:
    """The headings of ``text`` in order; the ending of ``path`` says the format.

    Markdown (with the headings of HTML in it), MDX, MediaWiki, AsciiDoc, reStructuredText and Org
    are known, and the text that a reader made of a PDF or HTML file: there a heading is a line
    ``## Title`` after a blank one. Other formats have no headings; code fences, blocks of
    AsciiDoc and front matter hold none.

    >>> headings("# A\\n\\ntext\\n\\n## B\\n", "guide.md")
    [Heading(line=0, level=1, text='A'), Heading(line=4, level=2, text='B')]
    """
    read = _FORMATS.get(splitext(path)[1].lower())
    return list(read(text)) if read else []


def prose_title(text: str, path: str) -> str | None:
    """The first heading near the start of a prose file, if there is one; none of a workbook.

    >>> prose_title("<p>logo</p>\\n# The *guide* #\\n", "a.md")
    'The *guide*'
    """
    start = "\n".join(text.split("\n", _TITLE_LINES)[:_TITLE_LINES])
    kind = prose_format(path)
    if kind in ("markdown", "ipynb"):
        # the picture above a title is often a tag, which hides it from CommonMark
        titles = [title for title in _mdx(start) if title.level <= 2]
    elif kind == "xlsx":
        return None  # its headings are the names of sheets
    else:
        titles = [title for title in headings(start, path) if kind != "org" or title.level == 1]
    return " ".join(titles[0].text.split()) if titles else None


def heading_paths(sections: Sequence[Heading], title: str) -> list[str]:
    """Each of ``sections`` after the headings above it, without the targets of links.

    A path leaves out the heading of the whole document, and outer headings that do not fit into
    ``MAX_HEADING`` beside the document's ``title``.

    >>> heading_paths([Heading(0, 1, "News"), Heading(2, 2, "1.0"), Heading(4, 3, "Fixed")], "a.md")
    ['News', '1.0', '1.0 > Fixed']
    """
    least = min((section.level for section in sections), default=0)
    alone = sum(section.level == least for section in sections) == 1
    above: list[tuple[int, str]] = []
    paths: list[str] = []
    for _, level, text in sections:
        path = text = MARKDOWN_LINK.sub(r"\1", text)
        while above and above[-1][0] >= level:
            above.pop()
        for _, outer in reversed(above):
            if len(title) + len(outer) + len(path) + 6 > MAX_HEADING:
                break
            path = f"{outer} > {path}"
        if not (alone and level == least):
            above.append((level, text))
        paths.append(path)
    return paths


def _markdown(text: str, *, mdx: bool = False) -> Iterator[Heading]:
    for block in markdown_blocks(text, mdx=mdx):
        if block.level:
            if title := block.content.strip():
                yield Heading(block.first, block.level, title)
        elif block.kind == "html_block" or (mdx and block.kind == "inline"):
            yield from _html_headings(block.content, block.first)


def _mdx(text: str) -> Iterator[Heading]:
    return _markdown(text, mdx=True)


def _html_headings(html: str, first: int) -> Iterator[Heading]:
    """The headings of a block of HTML that begins on line ``first``; one a line."""
    opened: re.Match[str] | None = None
    last, line, counted = -1, first, 0
    for match in _HTML_HEADING.finditer(html):
        if not match[1]:
            opened = match
        elif opened and opened[2] == match[2]:
            inner = html[opened.end() : match.start()]
            shown = " ".join(unescape(_TAG.sub(" ", inner)).split())
            alts = (_ALT.match(tag[0]) for tag in _TAG.finditer(inner))
            pictured = " ".join(unescape(alt[2]) for alt in alts if alt)
            line += html.count("\n", counted, opened.start())
            counted = opened.start()
            if (title := shown or pictured) and line != last:
                yield Heading(line, int(match[2]), title)
                last = line
            opened = None


def _mediawiki(text: str) -> Iterator[Heading]:
    for number, line in enumerate(text.split("\n")):
        if not line.startswith("=") or not (line := line.rstrip()).endswith("="):
            continue
        before, after = len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("="))
        level = min(before, after, 6)
        title = line[level:-level].strip()
        if level * 2 < len(line) and title:
            yield Heading(number, level, title)


def asciidoc_blocks(lines: Sequence[str]) -> list[str]:
    """The fence of the AsciiDoc block that each line is in or delimits, else ``""``.

    A rule under a line of its own length is the underline of a title, no fence. A block that never
    closes lasts to the end.

    >>> asciidoc_blocks(["a", "----", "= b", "----", "c"])
    ['', '----', '----', '----', '']
    """
    inside: list[str] = []
    block = ""
    for number, line in enumerate(lines):
        if block:
            inside.append(block)
            block = "" if line == block else block
            continue
        fence = _ASCIIDOC_FENCE.fullmatch(line)
        if fence and not is_underlined(lines, number - 1):
            block = fence[0][:3] if line.startswith("```") else fence[0]
        inside.append(block)
    return inside


def is_underlined(lines: Sequence[str], number: int) -> bool:
    """Whether the line is a title in AsciiDoc's old form, underlined by the next line."""
    if number < 0 or number + 1 >= len(lines) or (number and lines[number - 1].strip()):
        return False
    title, rule = lines[number], lines[number + 1]
    return (
        len(rule) > 1
        and rule[0] in _ASCIIDOC_RULES
        and rule == rule[0] * len(rule)
        and abs(len(title) - len(rule)) <= 1
        and any(c.isalnum() for c in title)
        and title[0] not in "[.:/"
    )


def _asciidoc(text: str) -> Iterator[Heading]:
    lines = [line.rstrip() for line in text.split("\n")]
    for number, (line, block) in enumerate(zip(lines, asciidoc_blocks(lines), strict=True)):
        if not block and is_underlined(lines, number):
            yield Heading(number, _ASCIIDOC_RULES.index(lines[number + 1][0]) + 1, line)
        elif not block and (match := _ASCIIDOC.fullmatch(line)):
            yield Heading(number, len(match[1]), match[2])


def _derived(text: str) -> Iterator[Heading]:
    after_blank = True
    for number, line in enumerate(text.split("\n")):
        if after_blank and (match := _DERIVED.fullmatch(line)):
            yield Heading(number, len(match[1]), match[2].strip())
        after_blank = not line.strip()


def _restructured(text: str) -> Iterator[Heading]:
    """A title has a rule below it; with one above it as well, it may be inset."""
    lines = [line.rstrip() for line in text.split("\n")]
    levels: dict[tuple[str, bool], int] = {}
    above = ""
    for number, (title, rule) in enumerate(pairwise(lines)):
        ruled = len(rule) >= len(title) and _RST_RULE.match(rule)
        over = above == rule
        if title and ruled and (over or not title[0].isspace()) and not _RST_RULE.match(title):
            level = levels.setdefault((rule[0], over), len(levels) + 1)
            yield Heading(number, level, title.strip())
        above = title


def _org(text: str) -> Iterator[Heading]:
    """``#+TITLE:`` is of level 1, ``*`` of level 2."""
    for number, line in enumerate(text.split("\n")):
        if match := _ORG.fullmatch(line):
            yield Heading(number, len(match[1] or "") + 1, match[2].strip())


# not ".tex": in a repository it is code
_CONVERTED = tuple(f".{kind}" for kind in CONVERTED if kind != "tex")
_FORMATS: dict[str, Callable[[str], Iterable[Heading]]] = {
    **dict.fromkeys((*MARKDOWN, ".ipynb", *_CONVERTED), _markdown),
    MDX: _mdx,
    **dict.fromkeys((".mediawiki", ".wiki", ".wikitext"), _mediawiki),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), _asciidoc),
    **dict.fromkeys((".rst", ".rest"), _restructured),
    ".org": _org,
    **dict.fromkeys((".pdf", ".html", ".htm", ".xhtml"), _derived),
}
