"""Aligns each passage of a document's version with its successor in the next version.

A passage is the same if its text is (white space folded), wherever it is now; or if the new
version has all of its text, only cut in another way. The other passages, between those that stayed
in place, are paired in order, with the highest total similarity (Needleman and Wunsch, 1970, with
a gap that costs nothing). The rest were moved and revised, or are gone.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

RULES = 2
"""The version of these rules: passages that were aligned by another version are aligned again."""

REVISED = 0.5
"""The minimum share of common words (Dice) of a passage and its revision."""

SAME_HEADING = 0.25
"""The same, if both are under one heading, or begin their document."""

ONLY_PASSAGE = 0.1
"""The same, if each is the only passage of its document."""

STILL_THERE = 0.6
"""A passage is not gone if the new version has at least this share of its word triples."""

BLOCK = 256
"""The most consecutive unpaired passages that are compared with each other at once."""

Relation = Literal["same", "revised", "gone", "new"]

_Triple = tuple[str, str, str]

_WORD = re.compile(r"\w+")


class Passage(NamedTuple):
    """A piece of a document: its heading, if it has one, and its text."""

    heading: str | None
    text: str


class Pair(NamedTuple):
    """The relation of two passages. A new passage may contain the text of several old ones."""

    old: int | None  # index among the old passages; None: ``relation`` is new
    new: int | None  # index among the new passages; None: ``relation`` is gone
    relation: Relation


def align(old: Sequence[Passage], new: Sequence[Passage]) -> list[Pair]:
    """The relations between the passages of two versions.

    Returns:
        Each old passage once, in order (same, revised or gone); then the new passages that
        contain nothing of the old version, in order. Revised pairs cross neither each other nor
        passages that stayed in place, unless they were moved as well.
    """
    before, after = [folded(p.text) for p in old], [folded(p.text) for p in new]
    paired: dict[int, Pair] = {}
    used: set[int] = set()

    def keep(pairs: Iterable[tuple[int, int]], relation: Relation) -> None:
        for i, j in pairs:
            paired[i] = Pair(i, j, relation)
            used.add(j)

    equal = _equal(before, after)
    keep(equal, "same")
    text = _Joined(after)
    for i, passage in enumerate(before):
        if i not in paired and (at := text.holder(passage)) is not None:
            paired[i] = Pair(i, at, "same")
    anchors = [(-1, -1), *_in_order(equal), (len(old), len(new))]
    for (i0, j0), (i1, j1) in pairwise(anchors):
        rows = [i for i in range(i0 + 1, i1) if i not in paired]
        columns = [j for j in range(j0 + 1, j1) if j not in used]
        keep(_revised(rows, columns, old, new), "revised")
    lost = [i for i in range(len(old)) if i not in paired]
    keep(_moved(lost, set(range(len(new))) - used, before, after), "revised")
    result = [paired.get(i, Pair(i, None, "gone")) for i in range(len(old))]
    used |= {pair.new for pair in result if pair.new is not None}
    was = _Joined(before)
    added = [j for j in range(len(new)) if j not in used and was.holder(after[j]) is None]
    return [*result, *(Pair(None, j, "new") for j in added)]


def holder(passage: str, new: Sequence[Passage]) -> int | None:
    """The first of ``new`` that contains most of ``passage``, if its whole text is in them."""
    return _Joined([folded(p.text) for p in new]).holder(folded(passage))


class _Joined:
    """A version's passages as one text, so that the boundaries of passages do not matter."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.text = " " + " ".join(passages) + " "
        self.starts = list(accumulate((len(p) + 1 for p in passages), initial=1))

    def holder(self, passage: str) -> int | None:
        """The passage that contains most of this text, if all of it is there."""
        at = self.text.find(f" {passage} ")
        if at < 0 or not passage:
            return None
        begin, end = at + 1, at + 1 + len(passage)
        first = bisect_right(self.starts, begin) - 1
        last = min(bisect_right(self.starts, end - 1) - 1, len(self.starts) - 2)
        return max(
            range(first, last + 1),
            key=lambda j: (min(self.starts[j + 1], end) - max(self.starts[j], begin), -j),
        )


def folded(text: str) -> str:
    """The comparison form of a passage: white space does not count."""
    return " ".join(text.split())


def _equal(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Equal texts, the n-th occurrence with the n-th, by index among the old."""
    indexes: dict[str, deque[int]] = defaultdict(deque)
    for j, text in enumerate(after):
        indexes[text].append(j)
    return [(i, indexes[text].popleft()) for i, text in enumerate(before) if indexes[text]]


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of these pairs, ascending in the first, that ascend in the second as well."""
    ends: list[int] = []
    chain: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_right(ends, j)
        before.append(chain[at - 1] if at else -1)
        if at == len(ends):
            ends.append(j)
            chain.append(index)
        else:
            ends[at], chain[at] = j, index
    kept = []
    index = chain[-1] if chain else -1
    while index >= 0:
        kept.append(pairs[index])
        index = before[index]
    return kept[::-1]


def _revised(
    rows: list[int], columns: list[int], old: Sequence[Passage], new: Sequence[Passage]
) -> list[tuple[int, int]]:
    if not rows or not columns:
        return []
    if max(len(rows), len(columns)) > BLOCK:
        parts = -(-max(len(rows), len(columns)) // BLOCK)
        return [
            pair
            for n in range(parts)
            for pair in _revised(_part(rows, n, parts), _part(columns, n, parts), old, new)
        ]
    scores = _dice([old[i].text for i in rows], [new[j].text for j in columns])
    headings = np.array(
        [[_one_heading(old[i], new[j]) or i == j == 0 for j in columns] for i in rows]
    )
    least = ONLY_PASSAGE if len(old) == len(new) == 1 else REVISED
    fit = (scores >= least) | (headings & (scores >= SAME_HEADING))
    scores = np.where(fit, scores + headings * (REVISED - SAME_HEADING), 0.0)
    return [(rows[i], columns[j]) for i, j in _best_in_order(scores)]


def _one_heading(one: Passage, two: Passage) -> bool:
    return bool(one.heading) and one.heading == two.heading


def _part(indexes: list[int], number: int, parts: int) -> list[int]:
    return indexes[len(indexes) * number // parts : len(indexes) * (number + 1) // parts]


def _dice(ones: Sequence[str], twos: Sequence[str]) -> NDArray[np.float64]:
    """The common words of each pair of texts, twice, over the words of both."""
    sets = [set(_WORD.findall(text.lower())) for text in (*ones, *twos)]
    numbers = {word: number for number, word in enumerate(set().union(*sets))}
    flags = np.zeros((len(sets), len(numbers)))
    for row, words in zip(flags, sets, strict=True):
        row[[numbers[word] for word in words]] = 1.0
    one, two = flags[: len(ones)], flags[len(ones) :]
    common: NDArray[np.float64] = one @ two.T
    sizes: NDArray[np.float64] = one.sum(axis=1)[:, None] + two.sum(axis=1)
    return np.divide(2.0 * common, np.maximum(sizes, 1.0))


def _best_in_order(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The pairs with the largest sum that do not cross; a score of 0 makes no pair."""
    height, width = scores.shape
    best = np.zeros((height + 1, width + 1))
    for i in range(height):
        through = best[i, :-1] + scores[i]
        row = np.maximum(best[i, 1:], np.where(scores[i] > 0, through, 0.0))
        best[i + 1, 1:] = np.maximum.accumulate(row)
    pairs = []
    i, j = height, width
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
    return pairs[::-1]


def _moved(
    lost: list[int], free: set[int], before: Sequence[str], after: Sequence[str]
) -> list[tuple[int, int]]:
    """Old passages that the new version mostly has, each with the passage that has most of it."""
    if not lost:
        return []
    whole = _triples(" ".join(after))
    holders: dict[_Triple, list[int]] = defaultdict(list)
    for j, text in enumerate(after):
        for triple in _triples(text):
            holders[triple].append(j)
    pairs = []
    for i in lost:
        triples = _triples(before[i])
        votes = Counter(j for triple in triples for j in holders.get(triple, ()))
        if votes and len(triples & whole) >= STILL_THERE * len(triples):
            pairs.append((i, min(votes, key=lambda j: (-votes[j], j not in free, j))))
    return pairs


def _triples(text: str) -> set[_Triple]:
    words = _WORD.findall(text.lower())
    return set(zip(words, words[1:], words[2:], strict=False))
