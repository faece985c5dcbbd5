"""AsciiDoc: the header of a text, and the text reduced to words, line by line.

This is no processor. Lines that only a processor needs (comments, attribute entries, block
attributes, anchors) become empty, links and cross references become their text, and attributes that
the file itself sets are filled in. Includes are never followed; the line stays. Listings, literal
and passthrough blocks stay as they are.

asciidoc 10.2 was tried: it makes HTML, in which no line keeps its place, and without its safe mode
it reads every file that an include names.
"""

import operator
import re
from contextlib import suppress
from itertools import dropwhile, takewhile
from typing import NamedTuple

from operators.foundation.date_text import DateRefused, parse_date
from operators.sources.formats.headings import asciidoc_blocks, headings, is_underlined

ASCIIDOC = frozenset({".adoc", ".asciidoc", ".asc", ".ad"})
HEADER_LINES = 50
MAX_VALUE = 200
"""Maximum characters; a longer attribute is ignored, so that nested attributes cannot explode."""

_ENTRY = re.compile(r":(!?[A-Za-z0-9_][\w-]*!?):(?:[ \t]+(.*))?")
_REFERENCE = re.compile(r"\{([A-Za-z0-9_][\w-]*)\}")
_TITLE = re.compile(r"[=#][ \t]+\S.*")
_WORD = r"(?:(?:version|ver\.?|v|revision|rev\.?|release)[ \t]*)?"
_REVISION = re.compile(
    rf"{_WORD}(?P<number>[0-9][\w.+-]*),[ \t]*(?P<date>.*)", re.ASCII | re.IGNORECASE
)
_NUMBER_ONLY = re.compile(
    rf"(?:{_WORD}(?<=[a-z. \t])|(?=[0-9]+\.))(?P<number>[0-9][\w.+-]*)[ \t]*(?::.*)?",
    re.ASCII | re.IGNORECASE,
)

MAX_FILLED_IN = 10_000
"""References to attributes in one text; the others stay as written."""

_ONLY_FOR_A_PROCESSOR = re.compile(
    r"//(?!/).*|\[\[[^\]]*\]\]|\[[^\]]*\]|(?:ifdef|ifndef|ifeval|endif)::.*"
)
_CROSS_REFERENCE = re.compile(r"<<([^,<>\n]{1,500})(?:,[ \t]*([^<>\n]{1,500}))?>>")
_MACRO = re.compile(r"\b(?:xref|link|mailto):([^\s\[\]]{1,1000})\[([^\]\n]{0,500})\]")
_ADDRESS = re.compile(r"\b(https?://[^\s\[\]]{1,1000})\[([^\]\n]{0,500})\]")
_IMAGE = re.compile(r"\bimage::?[^\s\[\]]{0,1000}\[([^\]\n]{0,500})\]")
_ANCHOR = re.compile(r"\[\[[^\]\n]{1,200}\]\]")


class AsciidocHeader(NamedTuple):
    """Attributes by lower-case name; number and date of the revision line, None if absent."""

    attributes: dict[str, str]
    number: str | None
    date: str | None


def asciidoc_header(text: str) -> AsciidocHeader:
    r"""Attributes and revision of an AsciiDoc text; of an attribute set twice the first counts.

    The grammar is Asciidoctor's (docs.asciidoctor.org, "Document header"): title, author line,
    revision line ``v1.0, 2025-03-15: remark``, attribute entries ``:name: value``. These are taken
    from the first 50 lines, but not from within a block (a listing shows them). A reference
    ``{name}`` in a value is resolved if the text set that attribute before; else it stays as
    written.

    >>> asciidoc_header("= T\nA <a@b>\nv1.0, 2025-03-15\n:k: v\n")
    AsciidocHeader(attributes={'k': 'v'}, number='1.0', date='2025-03-15')
    """
    lines = [line.rstrip() for line in header_lines(text)]
    attributes = _attributes(lines)
    number, date = _revision(lines)
    return AsciidocHeader(attributes, number, date and _resolved(date, attributes))


def header_lines(text: str) -> list[str]:
    """The first lines of a text, which may contain its header."""
    # Only the start: splitting a whole book for its header costs more than reading it.
    return text[: HEADER_LINES * 2000].removeprefix("\ufeff").splitlines()[:HEADER_LINES]


def _attributes(lines: list[str]) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for line, block in zip(lines, asciidoc_blocks(lines), strict=True):
        if not block and (match := _ENTRY.fullmatch(line)) and "!" not in match[1]:
            value = _resolved((match[2] or "").strip(), attributes)
            if len(value) <= MAX_VALUE:
                attributes.setdefault(match[1].lower(), value)
    return attributes


def _resolved(value: str, attributes: dict[str, str]) -> str:
    if len(value) > MAX_VALUE:
        return value
    made = _REFERENCE.sub(lambda m: attributes.get(m[1].lower(), m[0]), value)
    return made if len(made) <= MAX_VALUE else value


def _revision(lines: list[str]) -> tuple[str | None, str | None]:
    rest = [line for line in lines if not line.startswith("//") or line.startswith("////")]
    first = takewhile(bool, dropwhile(operator.not_, rest))
    header = [line for line in first if not _ENTRY.fullmatch(line)]
    if header and _TITLE.fullmatch(header[0]):
        under = header[1:]
    elif header[1:] and header[1][0] == "=" and is_underlined(header, 0):
        under = header[2:]
    else:
        return None, None
    # The author line comes first; a text without one often has its revision in that place.
    return next(filter(any, map(_revision_line, under[:2])), (None, None))


def _revision_line(line: str) -> tuple[str | None, str | None]:
    line = line.strip()
    if date := _leading_date(line):
        return None, date
    if match := _REVISION.fullmatch(line):
        rest = match["date"].strip()
        return match["number"], _leading_date(rest) or rest.partition(":")[0].strip() or None
    if match := _NUMBER_ONLY.fullmatch(line):
        return match["number"], None
    return None, None


def _leading_date(text: str) -> str | None:
    """``text`` without a remark after a colon, if it is a date."""
    ends = [len(text), *(i for i, c in enumerate(text) if c == ":")]
    for end in ends[:8]:
        candidate = text[:end].strip()
        with suppress(DateRefused):
            parse_date(candidate)
            return candidate
    return None


def asciidoc_text(source: str) -> str:
    r"""``source`` reduced to text, with as many lines.

    >>> asciidoc_text("= T\n:v: 2\n\n// no\nVersion {v}, see <<a,there>>.")
    '= T\n\n\n\nVersion 2, see there.'
    """
    lines = [line.rstrip() for line in source.split("\n")]
    attributes: dict[str, str] = {}
    left = MAX_FILLED_IN
    made: list[str] = []
    for line, block in zip(lines, asciidoc_blocks(lines), strict=True):
        if block.startswith("////"):
            made.append("")
        elif block.startswith(("--", "..", "++", "```")) and block != "--":
            made.append(line)
        elif entry := _ENTRY.fullmatch(line):
            value, left = _filled_in(entry[2] or "", attributes, left)
            if len(value) <= MAX_VALUE and "!" not in entry[1]:
                attributes[entry[1].lower()] = value
            made.append("")
        elif _ONLY_FOR_A_PROCESSOR.fullmatch(line):
            made.append("")
        else:
            line, left = _filled_in(line, attributes, left)
            made.append(_inline(line))
    return "\n".join(made)


def asciidoc_title(text: str) -> str | None:
    """The title of a document, else its first heading; :func:`asciidoc_text` made ``text``."""
    titles_first = sorted(headings(text, "a.adoc"), key=lambda heading: heading.level != 1)
    return titles_first[0].text if titles_first else None


def _filled_in(text: str, attributes: dict[str, str], left: int) -> tuple[str, int]:
    if left <= 0 or "{" not in text:
        return text, left
    made, count = _REFERENCE.subn(lambda m: attributes.get(m[1].lower(), m[0]), text, count=left)
    return made, left - count


def _inline(line: str) -> str:
    if "[" in line:
        line = _MACRO.sub(lambda m: _label(m[2]) or m[1], line)
        line = _ADDRESS.sub(
            lambda m: f"{label} ({m[1]})" if (label := _label(m[2])) else m[1], line
        )
        line = _IMAGE.sub(lambda m: _label(m[1]), line)
        line = _ANCHOR.sub("", line)
    if "<<" in line:
        line = _CROSS_REFERENCE.sub(lambda m: m[2] or m[1], line)
    return line


def _label(attributes: str) -> str:
    """The first positional attribute of a macro: ``text,window=_blank`` gives ``text``."""
    return attributes.removesuffix("^").split(",window=", 1)[0].strip().strip('"')
