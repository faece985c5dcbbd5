"""The blocks of a Markdown text, and its code and comments by their positions in the text.

markdown-it finds the blocks by CommonMark's rules; the inline parts are read here, because its
inline rules are not linear in time. What an author hides is a comment: ``<!-- ... -->``, a link
definition that leads nowhere (``[//]: # (...)``) and, in MDX, ``{/* ... */}``.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from markdown_it import MarkdownIt

from operators.foundation.front_matter import front_matter_lines

_PARSERS = {  # blocks only: linear, whatever is in them
    False: MarkdownIt("commonmark").disable("inline"),
    True: MarkdownIt("commonmark").disable(["inline", "html_block", "code"]),
}
_INDENTED = re.compile(r"(?m)^[ \t]+(?=#{1,6}[ \t]|<|`{3}|~{3})")  # below a tag, at any depth
_CODE = ("fence", "code_block")
_TOKEN = re.compile(r"\\[\\`<{]|`+|<!--|\{/\*")
_TICKS = re.compile("`+")
_HIDDEN_DEFINITION = re.compile(  # no blank line in it
    r"(?m)^[ \t>]*\[[^\[\]\n]{1,999}\]:[ \t]*(?:#|<>)[ \t]*(?:\n[ \t>]*)?"
    r"(?:\((?:[^()\n]|\n(?![ \t]*\n))*\)"
    r"|\"(?:[^\"\n]|\n(?![ \t]*\n))*\""
    r"|'(?:[^'\n]|\n(?![ \t]*\n))*')[ \t]*$"
)


class Block(NamedTuple):
    """A leaf of the document: its kind by markdown-it, its lines, and its level if a heading."""

    kind: str  # inline, html_block, fence, code_block
    first: int
    end: int  # the line after its last
    level: int  # 0: no heading
    content: str


class Part(NamedTuple):
    """A piece of a text: ``code``, a ``comment``, or ``text``."""

    kind: str
    text: str


def markdown_blocks(text: str, *, mdx: bool = False) -> Iterator[Block]:
    """The blocks below the front matter, in order; lines are 0-based and those of ``text``.

    In MDX (``mdx``), as in a text that is only searched for its title, a tag does not make the
    lines below it HTML, and no indentation makes code.
    """
    skipped = front_matter_lines(text)
    body = text.split("\n", skipped)[-1] if skipped else text
    body = re.sub(r"\r(?!\n)", " ", body)
    if mdx:
        body = _INDENTED.sub("", body)
    level = 0
    for token in _PARSERS[mdx].parse(body):
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.map and token.type in ("inline", "html_block", *_CODE):
            first, end = token.map
            yield Block(token.type, skipped + first, skipped + end, level, token.content)
            level = 0


def markdown_parts(text: str, *, mdx: bool = False) -> list[Part]:
    """``text`` in pieces, which joined are ``text``.

    A comment that never closes hides the rest where it begins a block, as GitHub shows it; within
    a paragraph it is text.

    >>> [tuple(part) for part in markdown_parts("a <!-- b --> `<!-- c -->`")]
    [('text', 'a '), ('comment', '<!-- b -->'), ('text', ' '), ('code', '`<!-- c -->`')]
    """
    parts: list[Part] = []
    at = 0
    for begin, end, kind in sorted(_marked(text, mdx)):
        if begin < at:
            continue  # in a part before it
        if at < begin:
            parts.append(Part("text", text[at:begin]))
        parts.append(Part(kind, text[begin:end]))
        at = end
    return [*parts, Part("text", text[at:])] if at < len(text) else parts


def without_comments(text: str) -> str:
    r"""``text`` without its comments, with as many lines.

    >>> without_comments("a <!-- b\nc --> d\n\n[//]: # (e)\n")
    'a \n d\n\n\n'
    """
    if "<!--" not in text and "]:" not in text:
        return text
    parts = markdown_parts(text)
    return "".join(blank(part.text) if part.kind == "comment" else part.text for part in parts)


def blank(text: str) -> str:
    """The line ends of ``text``."""
    return "\n" * text.count("\n")


def _marked(text: str, mdx: bool) -> Iterator[tuple[int, int, str]]:
    """The begin, end and kind of code and comments; one may begin in another."""
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    starts[-1] = len(text)
    at = 0  # what begins before it is part of a comment
    code: list[tuple[int, int]] = []
    for block in markdown_blocks(text, mdx=mdx):
        begin, end = starts[block.first], starts[min(block.end, len(starts) - 1)]
        if end <= at:
            continue
        if block.kind in _CODE:
            if begin >= at:
                code.append((begin, end))
                yield begin, end, "code"
        else:
            for mark in _within(text, max(begin, at), end, block.kind == "html_block", mdx):
                at = max(at, mark[1]) if mark[2] == "comment" else at
                yield mark
    code.reverse()
    for match in _HIDDEN_DEFINITION.finditer(text):
        while code and code[-1][1] <= match.start():
            code.pop()
        if not code or match.start() < code[-1][0]:
            yield match.start(), match.end(), "comment"


def _within(
    text: str, begin: int, end: int, html: bool, mdx: bool
) -> Iterator[tuple[int, int, str]]:
    """The code and the comments that begin in ``text[begin:end]``, a paragraph or HTML."""
    closing = {} if html else _closing_ticks(text, begin, end)
    unclosed = set[str]()
    at = begin
    while match := _TOKEN.search(text, at, end):
        start, mark = match.start(), match[0]
        at = match.end()
        if mark[0] == "`" and start in closing:
            at = closing[start]
            yield start, at, "code"
        elif mark == "<!--" or (mark == "{/*" and mdx):
            close = "-->" if mark == "<!--" else "*/}"
            # "<!-->" is a comment; in HTML its end may stand in a later block
            found = -1
            if mark not in unclosed:
                found = text.find(close, start + 2, len(text) if html else end)
            if found < 0 and not html:
                unclosed.add(mark)
                continue
            at = len(text) if found < 0 else found + len(close)
            yield start, at, "comment"


def _closing_ticks(text: str, begin: int, end: int) -> dict[int, int]:
    """By the begin of a run of back-ticks, the end of the next one that is as long."""
    closing: dict[int, int] = {}
    last: dict[int, int] = {}
    for match in reversed(list(_TICKS.finditer(text, begin, end))):
        length = len(match[0])
        if length in last:
            closing[match.start()] = last[length]
        last[length] = match.end()
    return closing
