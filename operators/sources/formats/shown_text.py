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

LONG_IN_CODE = 300
"""Characters; a shorter ``data:`` address in code is an example."""

_DATA = re.compile(
    r"(?<![\w-])(data:(?:[\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w.+-]{1,80}=[^\s,;()<>]{1,80})*;base64,)"
    r"[A-Za-z0-9+/=_%-]+",
    re.I,
)

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
    """``part`` without base64 in ``data:`` addresses; of a long one in code its beginning stays."""
    if part.kind == "code":
        return _DATA.sub(lambda one: one[1] if len(one[0]) >= LONG_IN_CODE else one[0], part.text)
    return _DATA.sub("", part.text)


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
