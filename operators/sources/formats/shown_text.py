"""A text as its readers see it: without comments and without pictures written as base64.

Comments hide the template of a pull request or a paragraph that its author withdrew. A picture in
a ``data:`` address is tens of thousands of characters without a word. Every line keeps its place,
because links lead to lines. In code both are the code's own; of a long address there, only the
data is left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from posixpath import splitext

from operators.foundation.markdown_blocks import Part, blank, markdown_parts
from operators.sources.formats.headings import MDX, asciidoc_blocks
from operators.sources.formats.languages import is_prose

LONG_IN_TEXT, LONG_IN_CODE = 100, 300
"""Characters; a shorter ``data:`` address is an example, if it is no picture."""

_ADDRESS = re.compile(
    r"(?<![\w-])data:(?:(?P<kind>[\w.+-]{1,80})/[\w.+-]{1,80})?(?:;[\w.+-]{1,80}=[^\s,;()<>]{1,80})*"
    r"(?:;(?P<base64>base64)|;(?:utf-?8|charset))?,",
    re.I,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/=_%-]*")
_BASE64_LINES = re.compile(r"[A-Za-z0-9+/=_%\s-]*")
_WRITTEN = re.compile(r"[^\s\"'<>`()\[\]]*(?:\([^\s\"'<>`()]*\)[^\s\"'<>`()\[\]]*)*")
_CLOSING = {'"': '"', "'": "'", "`": "`", "(": ")", "<": ">"}
_MEDIA = ("image", "audio", "video", "font")

_WIKI = re.compile(
    r"<!--|<(nowiki|pre|syntaxhighlight|source|code|math)\b[^<>\n]{0,500}(?<!/)>", re.I
)
_RST_START = re.compile(r"(?P<indent>[ \t]*)\.\.(?:[ \t]+(?P<rest>\S.*))?")
_RST_MARKUP = re.compile(r"_|\[[^\]]+\](?:\s|$)|\||[\w.+-](?:[\w:.+ -]*[\w.+-])?[ \t]?::(?:\s|$)")
_RST_VERBATIM = re.compile(
    r"(?:code|code-block|sourcecode|parsed-literal|raw|math|prompt|productionlist|graphviz|uml"
    r"|mermaid|doctest|test\w+|ipython|literal\w*|jinja|highlight)[ \t]?::"
)


def shown_text(text: str, kind: str, path: str = "") -> str:
    r"""``text`` without what its readers do not see, with as many lines.

    Args:
        text: of a file or a document.
        kind: its format or language (:mod:`operators.sources.formats.languages`).
        path: of the file; its ending tells MDX from Markdown.

    >>> shown_text("![mast](data:image/png;base64,iVBORw0KGgo=) <!-- no\n--> up", "markdown")
    '![mast]() \n up'
    """
    mdx = splitext(path)[1].lower() == MDX
    hides = mdx or any(mark in text for mark in _MARKS.get(kind, ()))
    if not hides and "data:" not in text.lower():
        return text
    if kind == "markdown":
        parts: Iterable[Part] = markdown_parts(text, mdx=mdx)
    elif kind in _HIDDEN and hides:
        parts = _HIDDEN[kind](text)
    else:
        parts = [Part("text" if is_prose(kind) or kind == "wikitext" else "code", text)]
    return "".join(
        blank(part.text) if part.kind == "comment" else _without_data(part) for part in parts
    )


def _without_data(part: Part) -> str:
    """``part`` without ``data:`` addresses; of a long one in code its beginning stays."""
    text, in_code = part.text, part.kind == "code"
    kept: list[str] = []
    at = 0
    while match := _ADDRESS.search(text, at):
        end = _address_end(text, match)
        kept.append(text[at : match.start()])
        media = match["base64"] or (match["kind"] or "").lower() in _MEDIA
        goes = end > match.end() and (match["kind"] or match["base64"])
        least = LONG_IN_CODE if in_code else 0 if media else LONG_IN_TEXT
        if not goes or end - match.start() < least:
            kept.append(text[match.start() : end])
        else:
            kept.append((match[0] if in_code else "") + blank(text[match.end() : end]))
        at = end
    return "".join([*kept, text[at:]])


def _address_end(text: str, match: re.Match[str]) -> int:
    """Where the address ends whose data begins at the end of ``match``."""
    begin = match.end()
    closing = _CLOSING.get(text[match.start() - 1 : match.start()])
    if match["base64"]:
        if closing:
            end = _end(_BASE64_LINES, text, begin)
            if text.startswith(closing, end):
                return end
        return _end(_BASE64, text, begin)
    if closing in ('"', "'", "`"):
        line_end = text.find("\n", begin)
        end = text.find(closing, begin, len(text) if line_end < 0 else line_end)
        if end >= 0:
            return end
    return _end(_WRITTEN, text, begin)


def _end(pattern: re.Pattern[str], text: str, begin: int) -> int:
    match = pattern.match(text, begin)
    return match.end() if match else begin


def _wikitext(text: str) -> Iterator[Part]:
    lower, at, searched = text.lower(), 0, 0
    unclosed = set[str]()
    while match := _WIKI.search(text, searched):
        closing = f"</{match[1].lower()}" if match[1] else "-->"
        end = -1 if closing in unclosed else lower.find(closing, match.end())
        searched = match.end()
        if end < 0 and match[1]:
            unclosed.add(closing)
            continue
        searched = len(text) if end < 0 else end + len(closing)
        yield Part("text", text[at : match.start()])
        yield Part("code" if match[1] else "comment", text[match.start() : searched])
        at = searched
    yield Part("text", text[at:])


def _by_line(kinds: Callable[[list[str]], Iterable[str]], text: str) -> Iterator[Part]:
    """Each line of ``text``; ``kinds`` are those of all its lines."""
    lines = text.split("\n")
    last = len(lines) - 1
    for number, (line, kind) in enumerate(zip(lines, kinds(lines), strict=True)):
        yield Part(kind, line if number == last else f"{line}\n")


def _restructured(lines: list[str]) -> Iterator[str]:
    """Comments are ``.. `` without a directive, target or note, and what is indented below."""
    kind, inside = "text", -1  # of the lines that are indented by more than ``inside``
    for number, line in enumerate(lines):
        if not line.strip():
            yield kind if inside >= 0 else "text"
            continue
        indent = len(line) - len(line.lstrip())
        if inside >= 0 and indent > inside:
            yield kind
            continue
        inside = -1
        match = _RST_START.fullmatch(line.rstrip())
        rest = match["rest"] if match else None
        if match and (rest is None or not _RST_MARKUP.match(rest)):
            yield "comment"
            # an empty comment above a blank line ends there
            empty = rest is None and not "".join(lines[number + 1 : number + 2]).strip()
            kind, inside = "comment", -1 if empty else indent
            continue
        literal = _RST_VERBATIM.match(rest) if rest else line.rstrip().endswith("::")
        if literal:
            kind, inside = "code", indent
        yield "text"


def _asciidoc(lines: list[str]) -> Iterator[str]:
    stripped = [line.rstrip() for line in lines]
    for line, block in zip(stripped, asciidoc_blocks(stripped), strict=True):
        if block.startswith("////"):
            yield "comment"
        elif block.startswith(("--", "..", "++", "```")) and block != "--":
            yield "code"
        else:
            yield "comment" if line.startswith("//") and not line.startswith("///") else "text"


_HIDDEN: Mapping[str, Callable[[str], Iterable[Part]]] = {
    "wikitext": _wikitext,
    "rst": partial(_by_line, _restructured),
    "asciidoc": partial(_by_line, _asciidoc),
}
_MARKS = {
    "markdown": ("<!--", "]:"),
    "wikitext": ("<!--",),
    "rst": ("..",),
    "asciidoc": ("//",),
}
"""What a text of each format has at least if it hides something."""
