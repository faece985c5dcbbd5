"""Copies that say the same thing: a passage with one changed number is none.

A paragraph with one number or one negation changed stays above cosine 0.95 and Jaccard 0.90. So two
chunks are copies only if their texts are equal after white-space folding, or if cosine and Jaccard
are high and both have the same numbers, negations, modal words and identifiers, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain

import numpy as np

from operators.dedup import cosine
from operators.dedup.greedy import Flags, Pairs, greedy
from operators.dedup.jaccard import Finder, check_threshold
from operators.dedup.tokens import TokenSets
from operators.ranking.order import Column, Floats, Integers

_NEGATIONS = """not no never none neither nor nothing nobody nowhere without cannot except unless
                false disabled"""
_MODALS = """must shall should may might can could will would ought need needs required requires
             optional recommended only always all any every each"""
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
              fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy
              eighty ninety hundred thousand million billion half twice first second third"""
_GUARDED = frozenset(f"{_NEGATIONS} {_MODALS} {_NUMBERS}".split())
# a word, with the signs that hold an identifier, a version or a path together
_WORD = re.compile(r"[+\-<>=!]*\w+(?:(?:[.:/@$#\-]|->|::|['’])\w+)*|[<>=!]=|[<>]")
_PLAIN = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")  # prose: lower case, capitalised or all capitals

UnitVectors = Callable[[Integers], tuple[Floats, Integers]]
"""Takes row numbers, gives unit vectors and the place of each row's among them, -1 for none."""


def guarded_keepers(
    query_id: Column,
    number: Integers,
    sets: Sequence[TokenSets],
    vectors: UnitVectors,
    texts: Sequence[str | None],
    *,
    jaccard_threshold: float,
    cosine_threshold: float,
) -> Integers:
    """Which row each row belongs to when copies are dropped greedily from the best.

    Args:
        query_id: the query of each row; rows are sorted by query and rank.
        number: each row's set, counted through all of ``sets``.
        sets: token sets.
        vectors: called with the few rows whose texts are nearly equal.
        texts: one a row.
        jaccard_threshold: the least Jaccard index of copies.
        cosine_threshold: the least cosine of copies.

    Raises:
        ValueError: a threshold is out of range.
    """
    check_threshold(jaccard_threshold)
    cosine.check_threshold(cosine_threshold)
    finder = Finder(query_id, number, sets, jaccard_threshold)
    folded = cache(lambda row: " ".join((texts[row] or "").split()))
    said = cache(lambda row: guards(texts[row] or ""))

    def find(rows: Integers, may_better: Flags, may_worse: Flags) -> Pairs:
        better, worse = finder.pairs(rows, may_better, may_worse)
        pairs = list(zip(better.tolist(), worse.tolist(), strict=True))
        copies = np.array([folded(one) == folded(two) for one, two in pairs], bool)
        unsure = np.flatnonzero(~copies)
        for place in unsure[near(better[unsure], worse[unsure])].tolist():
            one, two = pairs[place]
            copies[place] = said(one) == said(two)
        return better[copies], worse[copies]

    def near(one: Integers, two: Integers) -> Flags:
        close = np.zeros(len(one), bool)
        if len(one):
            rows = np.unique(np.concatenate([one, two]))
            units, place = vectors(rows)
            first, second = place[np.searchsorted(rows, one)], place[np.searchsorted(rows, two)]
            both = np.flatnonzero((first >= 0) & (second >= 0))
            close[both] = cosine.cosines(units, first[both], second[both]) >= cosine_threshold
        return close

    return greedy(query_id, find)


def guards(text: str) -> tuple[str, ...]:
    """The words of ``text`` that a copy must have too, in their order.

    >>> guards("The limit must not exceed 30 MB; see max_size or HTTPServer.")
    ('must', 'not', '30', 'max_size', 'HTTPServer')
    """
    return tuple(chain.from_iterable(map(_guards_of_piece, text.split())))


@lru_cache(maxsize=16_384)
def _guards_of_piece(piece: str) -> tuple[str, ...]:
    """The guards in what stands between two white spaces; no word has one inside."""
    found = []
    for word in _WORD.findall(piece):
        lower = word.lower()
        if lower in _GUARDED or lower.endswith(("n't", "n’t")):
            found.append(lower)
        elif not _PLAIN.fullmatch(word):
            found.append(word)
    return tuple(found)
