"""The changes from one version of a document to another, for display.

Documents are compared by paragraphs, not by the passages that searches return, so that a passage
with a new boundary is no change.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from operators.versions.alignment import Pair, Passage, align

Kind = Literal["added", "removed", "revised"]

_PARAGRAPHS = re.compile(r"\n[ \t]*\n+")


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
            key = (at, 1) if pair.new is None else (pair.new, 0)
            placed.append((*key, pair.old or 0, _change(pair, before, after)))
    return [change for *_, change in sorted(placed, key=lambda item: item[:3])]


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
