"""The part of a passage in a list of results: the lines that match the query, unchanged."""

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import NamedTuple

from operators.foundation.tokenizer import vocabulary
from operators.frames import FILES

LONGEST, MOST_LINES = 300, 5
"""Characters and parts of a snippet; a part is a line, or a sentence of a long one."""

BRIEFEST, FEWEST_LINES = 160, 3
"""The same of a brief one."""

SHORTEST_TOLD = 8
"""Characters of a first line that a label repeats; shorter ones are code."""

_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`*(\[])")


class Snippet(NamedTuple):
    """``text`` starts on the line ``line`` of its passage, counted from 0."""

    text: str
    line: int


def snippet(text: str, asked: str, *, brief: bool = False) -> Snippet:
    """The lines of ``text`` that have most of the words of ``asked``; of ties the first.

    Blank lines and the common indentation are removed. If text follows, the snippet ends in an
    ellipsis. A line or sentence is shown whole, unless it alone is too long. It does not begin with
    a line without letters: a rule, the head of a hunk. A brief snippet ends with the last word that
    it is shown for; a heading alone says nothing.

    >>> snippet("#\\n" * 10 + "  def flush():\\n    go()\\n", "flush")
    Snippet(text='def flush():\\n  go()', line=10)
    >>> snippet("def stop():\\n  flush()\\n  log()\\n  go()", "flush", brief=True)
    Snippet(text='flush()…', line=1)
    """
    most, longest = (FEWEST_LINES, BRIEFEST) if brief else (MOST_LINES, LONGEST)
    parts = list(_parts(text, longest))
    if not parts:
        return Snippet("", 0)
    words = vocabulary(asked)
    has = [words & vocabulary(part) for _, part in parts]

    def end(begin: int) -> int:
        """The end of the longest window from ``begin`` that is short enough."""
        last, room = begin + 1, longest - len(parts[begin][1])
        while last < min(begin + most, len(parts)) and len(parts[last][1]) < room:
            room -= len(parts[last][1]) + 1
            last += 1
        return last

    told = [n for n, (_, part) in enumerate(parts) if _LETTER.search(part)] or [0]
    begins = told if words and end(told[0]) < len(parts) else told[:1]
    best = max(begins, key=lambda n: (len(set().union(*has[n : end(n)])), bool(has[n]), -n))
    last = end(best)
    least = best + (2 if parts[best][1].startswith(("#", "=")) else 1)
    while brief and last > least and has[last - 1] <= set().union(*has[best : last - 1]):
        last -= 1
    shown, line = "", parts[best][0]
    for n, part in parts[best:last]:
        shown += ("\n" if n > line else " " if shown else "") + part
        line = n
    shown = dedent(shown)
    if len(shown) > longest:
        shown = shown[: longest - 1].rpartition(" ")[0].rstrip() or shown[: longest - 1]
        return Snippet(shown + "…", parts[best][0])
    return Snippet(shown + "…" if last < len(parts) else shown, parts[best][0])


def brief_snippet(text: str, asked: str, label: str) -> Snippet:
    """A brief snippet of a passage that is shown under ``label``, without a first line in it.

    >>> commit = "Flush once\\n\\nTwo calls raced.\\n\\nFiles:\\ncache.py"
    >>> brief_snippet(commit, "why flush once", "[history: 0123abc Flush once (2026-01-01)]").text
    'Two calls raced.…'
    """
    subject, _, body = text.partition("\n")
    body = body.strip("\n").removeprefix(f"{FILES}\n")
    is_told = bool(body.strip()) and len(subject) >= SHORTEST_TOLD and subject.strip() in label
    return snippet(body if is_told else text, asked, brief=True)


def _parts(text: str, longest: int) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; of a long line its sentences."""
    for number, line in enumerate(text.expandtabs(4).split("\n")):
        whole = line.rstrip()
        if whole.strip():
            for part in _SENTENCE.split(whole) if len(whole) > longest // 3 else [whole]:
                yield number, part
