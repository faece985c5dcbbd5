"""The changes from one version of a document to another, for display.

Documents are compared by paragraphs, not by the passages that searches return, so that a passage
with a new border is no change.
"""

import difflib
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from operators.versions.alignment import Pair, Passage, align

CONTEXT_WORDS = 12
"""Words that are kept on either side of a change."""

LONGEST = 20_000
"""Words of a paragraph; a longer one is shown whole, old and new."""

Kind = Literal["added", "removed", "revised"]

_PARAGRAPHS = re.compile(r"\n[ \t]*\n+")
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


class Span(NamedTuple):
    """A span of a paragraph: ``=`` in both, ``-`` only in the old one, ``+`` only in the new."""

    sign: str
    text: str


class Change(NamedTuple):
    """A changed paragraph: its text before (None: added) and now (None: removed)."""

    kind: Kind
    heading: str | None  # of its section
    old: str | None
    new: str | None


def changes(old: Sequence[Passage], new: Sequence[Passage]) -> list[Change]:
    """The paragraphs that were added, removed or revised, in the order of the new document.

    A removed one comes after the paragraph that preceded it.
    """
    before, after = _paragraphs(old), _paragraphs(new)
    placed: list[tuple[int, int, int, Change]] = []
    at = -1
    for pair in align(before, after):
        if pair.new is not None and pair.old is not None:
            at = pair.new
        if pair.relation != "same":
            place = (at, 1) if pair.new is None else (pair.new, 0)
            placed.append((*place, pair.old or 0, _change(pair, before, after)))
    return [change for *_, change in sorted(placed, key=lambda item: item[:3])]


def word_diff(old: str, new: str) -> list[Span]:
    """The changes from ``old`` to ``new``, word by word; the joined spans give both texts.

    >>> word_diff("at most 100 entries", "at most 250 entries")[1:3]
    [Span(sign='-', text='100'), Span(sign='+', text='250')]
    """
    ones, twos = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(ones), len(twos)) > LONGEST:
        return [Span("-", old), Span("+", new)]
    # Any white space equals any other.
    one, two = ([" " if t.isspace() else t for t in tokens] for tokens in (ones, twos))
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    spans: list[Span] = []
    for tag, i0, i1, j0, j1 in matcher.get_opcodes():
        if tag == "equal":
            spans.append(Span("=", "".join(twos[j0:j1])))
            continue
        if i1 > i0:
            spans.append(Span("-", "".join(ones[i0:i1])))
        if j1 > j0:
            spans.append(Span("+", "".join(twos[j0:j1])))
    return _readable(spans)


def shortened(spans: Sequence[Span], words: int = CONTEXT_WORDS) -> list[Span]:
    """``spans`` with at most ``words`` words around each change; ``…`` replaces the others."""
    last = len(spans) - 1
    short = []
    for place, (sign, text) in enumerate(spans):
        pieces = re.findall(r"\s*\S+\s*", text)
        head, tail = (0 if place == 0 else words), (0 if place == last else words)
        if sign == "=" and len(pieces) > head + tail + 1:
            kept = "".join(pieces[:head]).rstrip(), "".join(pieces[len(pieces) - tail :]).lstrip()
            text = " … ".join(kept)
        short.append(Span(sign, text))
    return short


def _paragraphs(passages: Sequence[Passage]) -> list[Passage]:
    return [
        Passage(heading, part.strip("\n"))
        for heading, text in passages
        for part in _PARAGRAPHS.split(text)
        if part.strip()
    ]


def _change(pair: Pair, before: Sequence[Passage], after: Sequence[Passage]) -> Change:
    old = before[pair.old] if pair.old is not None else None
    new = after[pair.new] if pair.new is not None else None
    heading = new.heading if new else old.heading if old else None
    kind: Kind = "added" if old is None else "removed" if new is None else "revised"
    return Change(kind, heading, old.text if old else None, new.text if new else None)


def _readable(spans: Sequence[Span]) -> list[Span]:
    """``spans`` with changes joined that only white space separates."""

    def is_changed(place: int) -> bool:
        sign, text = spans[place]
        return sign != "=" or (text.isspace() and 0 < place < len(spans) - 1)

    result: list[Span] = []
    for changed, places in groupby(range(len(spans)), is_changed):
        of = [spans[place] for place in places]
        if changed:
            sides = [(sign, "".join(r.text for r in of if r.sign in f"={sign}")) for sign in "-+"]
            of = [Span(sign, text) for sign, text in sides if text]
        result += of
    return result
