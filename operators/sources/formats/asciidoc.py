"""AsciiDoc to plain text, line by line, so that a line of the text is the same line of the file.

A reduction, no processor: what only a processor needs (comments, attribute entries, block
attributes, anchors) becomes an empty line, links and cross references become their text, and
attributes that the file itself sets are filled in. Includes are never followed; the line stays.
What stands in a listing, a literal or a passthrough block stays as it is.
"""

import re

from operators.sources.formats.asciidoc_header import ENTRY, MAX_VALUE, REFERENCE
from operators.sources.formats.headings import asciidoc_blocks, headings

MAX_FILLED_IN = 10_000
"""References to attributes in one text; the others stay as written."""

_ONLY_FOR_A_PROCESSOR = re.compile(
    r"//(?!/).*|\[\[[^\]]*\]\]|\[[^\]]*\]|(?:ifdef|ifndef|ifeval|endif)::.*"
)
_CROSS_REFERENCE = re.compile(r"<<([^,<>\n]{1,500})(?:,[ \t]*([^<>\n]{1,500}))?>>")
_MACRO = re.compile(r"\b(?:xref|link|mailto):([^\s\[\]]{1,1000})\[([^\]\n]{0,500})\]")
_ADDRESS = re.compile(r"\b(https?://[^\s\[\]]{1,1000})\[([^\]\n]{0,500})\]")
_IMAGE = re.compile(r"\bimage::?[^\s\[\]]{1,1000}\[([^\]\n]{0,500})\]")
_ANCHOR = re.compile(r"\[\[[^\]\n]{1,200}\]\]")


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
        elif entry := ENTRY.fullmatch(line):
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
    """The title of the document, else its first heading; ``text`` as made here."""
    found = sorted(headings(text, "a.adoc"), key=lambda heading: heading.level != 1)
    return found[0].text if found else None


def _filled_in(text: str, attributes: dict[str, str], left: int) -> tuple[str, int]:
    if left <= 0 or "{" not in text:
        return text, left
    made, count = REFERENCE.subn(lambda m: attributes.get(m[1].lower(), m[0]), text, count=left)
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
