"""Near-duplicates that say the same thing: a passage with one changed number is none.

A paragraph with one number or one negation changed stays above cosine 0.95 and Jaccard 0.90. So two
chunks are near-duplicates only if their texts are equal after white-space folding, or if cosine and
Jaccard are high and both have the same numbers, negations, modal words and identifiers, in the same
order.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from operators.arrays.segments import Column, Integers
from operators.dedup import cosine, jaccard
from operators.dedup.similarity_index import SimilarityIndex

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


def guarded_representatives(
    query_id: Column,
    number: Integers,
    index: SimilarityIndex,
    *,
    jaccard_threshold: float,
    cosine_threshold: float,
) -> Integers:
    """For each row the row that represents it: itself, or the best that says the same.

    Args:
        query_id: the query of each row; rows are sorted by query and rank.
        number: each row's entry in ``index``.
        index: the texts and vectors of chunks.
        jaccard_threshold: the least Jaccard index of near-duplicates.
        cosine_threshold: the least cosine of near-duplicates.

    Raises:
        ValueError: a threshold is out of range.
    """
    jaccard.check_threshold(jaccard_threshold)
    cosine.check_threshold(cosine_threshold)

    @cache
    def tokens(entry: int) -> frozenset[str]:
        return frozenset(map(str.lower, index.text[entry].split()))

    @cache
    def guards_of(entry: int) -> tuple[str, ...]:
        return guards(index.text[entry])

    @cache  # a batch meets the same pair in many queries
    def say_the_same(one: int, two: int) -> bool:
        high = _jaccard_index(tokens(one), tokens(two)) >= jaccard_threshold
        return high and guards_of(one) == guards_of(two)

    representative, entry, query = np.arange(len(number)), number.tolist(), query_id.tolist()
    staying: dict[tuple[Any, str], int] = {}  # the one row that stays of a query and a text
    for row, near in cosine.near_and_better(query_id, number, index.vector, cosine_threshold):
        text = query[row], index.text[entry[row]]
        equal = staying.get(text, row)
        better = near[representative[near] == near].tolist()
        alike = (b for b in better if b > equal or say_the_same(entry[b], entry[row]))
        found = min(next(alike, equal), equal)
        representative[row] = found
        if found == row:
            staying[text] = row
    return representative


def guards(text: str) -> tuple[str, ...]:
    """The words of ``text`` that a near-duplicate must have too, in their order.

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


def _jaccard_index(one: frozenset[str], two: frozenset[str]) -> float:
    """Common tokens over all tokens; of two empty sets 1."""
    common = len(one & two)
    every = len(one) + len(two) - common
    return common / every if every else 1.0
