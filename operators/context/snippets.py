"""The part of a passage in a list of results: the lines that match the query, unchanged."""

from textwrap import dedent
from typing import NamedTuple

from operators.foundation.tokenizer import vocabulary

LONGEST = 300
"""Characters of a snippet."""

MOST_LINES = 5
"""Non-blank lines of a snippet."""


class Snippet(NamedTuple):
    """``text`` starts on the line ``line`` of its passage, counted from 0."""

    text: str
    line: int


def snippet(text: str, asked: str) -> Snippet:
    """The lines of ``text`` that have most of the words of ``asked``; of ties the first.

    Blank lines and the common indentation are removed. If text follows, the snippet ends in an
    ellipsis. A long single line is shown from the beginning.

    >>> snippet("#\\n" * 10 + "  def flush():\\n    go()\\n", "flush")
    Snippet(text='def flush():\\n  go()', line=10)
    """
    lines = [(n, one.rstrip()) for n, one in enumerate(text.expandtabs(4).split("\n"))]
    lines = [(n, one) for n, one in lines if one.strip()]
    if not lines:
        return Snippet("", 0)
    words = vocabulary(asked)
    has = [words & vocabulary(one) for _, one in lines]
    begins = range(len(lines)) if words and len(lines) > MOST_LINES else range(1)
    best = max(begins, key=lambda n: (len(set().union(*has[n : n + MOST_LINES])), bool(has[n]), -n))
    shown = dedent("\n".join(one for _, one in lines[best : best + MOST_LINES]))
    more = len(shown) > LONGEST or best + MOST_LINES < len(lines)
    return Snippet(shown[: LONGEST - 1].rstrip() + "…" if more else shown, lines[best][0])
