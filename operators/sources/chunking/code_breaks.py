"""The places where code can be cut by its syntax, and the definitions on its lines.

A cut before a line goes through every piece of syntax that starts above the line and ends on it or
below. The fewer, the better: cutting at the shallowest place that fills a chunk is split-then-merge
(a piece too large is cut between its parts, small neighbours stay together) without a second
chunker.

The parser runs in a child process. On ambiguous text some grammars take memory with the square of
its length in one step that nothing can interrupt: 80 kB of ``a < a < a`` as Java take 5 GB.
"""

import atexit
from collections.abc import Sequence
from typing import NamedTuple

from operators.foundation.extras import installing
from operators.sources.chunking.grammars import grammar_name, installed, loaded
from operators.sources.sandbox import Passing, Sandbox, Stopped

MOST_LINES = 4
"""Maximum lines of a signature above a passage: long ones have a line a parameter."""

MAX_PARSED = 1_000_000
"""Maximum bytes; a larger text is data or generated."""

_PARSER = Sandbox(
    "operators.sources.chunking.syntax_tree:answer",
    memory_bytes=1 << 30,
    cpu_s=5,
    wall_s=30.0,
    requests_a_child=5_000,
    retry=True,
)
atexit.register(_PARSER.close)


class Definition(NamedTuple):
    """A function, a class or the like: its 0-based lines, both inclusive, and qualified name."""

    first: int  # of its comments and decorators, where it has some
    last: int
    name: str
    kind: str  # the grammar's word for it
    begins: int  # without its comments: the line of its signature, or of its decorators
    body: tuple[int, int]  # the line and column where the signature ends


class Breaks(NamedTuple):
    """The syntax of a text, by its lines."""

    depths: list[int]  # for each line: how many pieces of syntax a cut before it goes through
    definitions: list[Definition]  # by first line, the outer before the inner
    used: list[tuple[int, str]] | None  # the lines and names of uses, sorted; None: not known

    def innermost(self) -> list[str | None]:
        """For each line the name of the innermost definition that it is in."""
        names: list[str | None] = [None] * len(self.depths)
        for definition in self.definitions:
            length = definition.last + 1 - definition.first
            names[definition.first : definition.last + 1] = [definition.name] * length
        return names


class Unparsed(NamedTuple):
    """A text that was not parsed although its language is known, and why."""

    reason: str
    passing: bool = False  # the text is not the cause: a retry may parse it


def breaks(text: str, language: str | None, path: str | None = None) -> Breaks | Unparsed | None:
    r"""The depth of a cut before each line of ``text``, its definitions and the names it uses.

    Args:
        text: any text; its lines end with ``\n``.
        language: as :func:`operators.sources.formats.languages.code_language` names it.
        path: distinguishes dialects, where given.

    Returns:
        None if the language is unknown. ``Unparsed`` if it is known, but the text is too large or
        too hard to parse, its grammar is not installed, or something killed the parser.

    >>> text = "class A:\n    # f\n    def f(self):\n        pass\n"
    >>> breaks(text, "python").definitions[1]
    Definition(first=1, last=3, name='A.f', kind='function', begins=2, body=(3, 8))
    """
    name = grammar_name(language, path, text)
    source = text.encode("utf-8", "replace")
    if name is None:
        return None
    if len(source) > MAX_PARSED:
        return Unparsed(f"it is larger than {MAX_PARSED} bytes")
    if not installed(name):
        return Unparsed(f"no grammar of {name} is installed: {installing('code')}")
    try:
        reply = _PARSER.ask(name.encode() + b"\0" + source)
    except Passing as stopped:
        return Unparsed(str(stopped), passing=True)
    except Stopped:
        reply = None
    if reply is None:
        if loaded(name) is None:
            return Unparsed(f"the grammar of {name} does not load on this machine")
        return Unparsed(f"the grammar of {name} gave up")
    depths, rows, used = reply
    definitions = [
        Definition(first, last, called, kind, begins, (row, column))
        for first, last, called, kind, begins, (row, column) in rows
    ]
    return Breaks(depths, definitions, used and [(line, named) for line, named in used])


def signatures_above(
    definitions: Sequence[Definition], lines: Sequence[str], first: int
) -> list[str]:
    """The signatures of the definitions around the line ``first``, the outer first.

    Each has its first ``MOST_LINES``.
    """
    signatures = []
    for definition in definitions:
        if definition.first > first:
            break
        if definition.begins < first <= definition.last:
            row, column = definition.body
            ends = [lines[row][:column]] if row < first and column else []
            signature = [*lines[definition.begins : min(row, first)], *ends]
            signatures.append("".join(signature[:MOST_LINES]).rstrip())
    return signatures


def symbol(definitions: Sequence[Definition], first: int, last: int) -> str | None:
    """The name of the first and innermost definition with the most of the lines given."""
    best, most = None, 0
    for definition in definitions:
        if definition.first > last:
            break
        shared = min(definition.last, last) - max(definition.first, first) + 1
        inside = best is not None and definition.last <= best.last
        if shared > most or (shared == most > 0 and inside):
            best, most = definition, shared
    return best.name if best else None
