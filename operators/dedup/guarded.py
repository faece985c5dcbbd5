"""Copies that say the same thing: a passage with one changed number is none.

A paragraph with one number or one negation changed stays above cosine 0.95 and Jaccard 0.90. So two
chunks are copies only if their texts are equal after white-space folding, or if cosine and Jaccard
are high and both have the same numbers, negations, modal words and identifiers, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

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


def guarded_keepers(
    query_id: Column,
    number: Integers,
    sets: Sequence[TokenSets],
    vectors: Floats,
    place: Integers,
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
        vectors: unit vectors.
        place: each row's vector in ``vectors``, or -1 for none.
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
        alike = np.zeros(len(better), bool)
        both = np.flatnonzero((place[better] >= 0) & (place[worse] >= 0))
        similar = cosine.cosines(vectors, place[better[both]], place[worse[both]])
        alike[both] = similar >= cosine_threshold
        copies = [
            folded(one) == folded(two) or (near and said(one) == said(two))
            for one, two, near in zip(better.tolist(), worse.tolist(), alike.tolist(), strict=True)
        ]
        some = np.array(copies, bool)
        return better[some], worse[some]

    return greedy(query_id, find)


def guards(text: str) -> tuple[str, ...]:
    """The words of ``text`` that a copy must have too, in their order.

    >>> guards("The limit must not exceed 30 MB; see max_size or HTTPServer.")
    ('must', 'not', '30', 'max_size', 'HTTPServer')
    """
    found = []
    for word in _WORD.findall(text):
        lower = word.lower()
        if lower in _GUARDED or lower.endswith(("n't", "n’t")):
            found.append(lower)
        elif not _PLAIN.fullmatch(word):
            found.append(word)
    return tuple(found)
