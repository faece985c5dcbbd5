"""Near-duplicates with the same content: a passage with one changed number is not a duplicate.

A paragraph with one number or one negation changed stays above cosine 0.95 and Jaccard 0.90. So two
chunks are near-duplicates only if their texts are equal after white-space folding, or if cosine and
Jaccard are high and both have the same numbers, negations, modal words and identifiers, in the same
order.
"""

import re
from functools import cache

import numpy as np

from operators.arrays.segments import Column, Integers
from operators.dedup.cosine import ROUNDING
from operators.dedup.jaccard import Finder
from operators.dedup.representatives import check_threshold
from operators.dedup.similarity_index import SimilarityIndex
from operators.foundation.short_cache import cached_if_short

_MANY_A_ROW = 32
"""Shared parts per row above which the guards of all rows cost less than the pairs they exclude."""

_NEGATIONS = """not no never none neither nor nothing nobody nowhere without cannot except unless
                false disabled"""
_MODALS = """must shall should may might can could will would ought need needs required requires
             optional recommended only always all any every each"""
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
              fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy
              eighty ninety hundred thousand million billion half twice first second third"""
_GUARDED = frozenset(f"{_NEGATIONS} {_MODALS} {_NUMBERS}".split())
# a word, with the characters that join an identifier, a version or a path
_WORD = re.compile(r"[+\-<>=!]*\w+(?:(?:[.:/@$#\-]|->|::|['’])\w+)*|[<>=!]=|[<>]")
_PLAIN = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")  # prose: lower case, capitalised or all capitals


def guarded_representatives(
    query_id: Column,
    number: Integers,
    index: SimilarityIndex,
    jaccard_threshold: float,
    cosine_threshold: float,
) -> Integers:
    """For each row the row that represents it: itself, or the best near-duplicate with its guards.

    Raises:
        ValueError: a threshold is out of range.
    """
    check_threshold("cosine", cosine_threshold)
    finder = Finder(number, index.tokens, jaccard_threshold)
    entry = number.tolist()
    guards_of = cache(lambda one: guards(index.text[one]))

    def says_the_same(best: int, row: int) -> bool:
        one, two = entry[best], entry[row]
        cosine = index.vector[one] @ index.vector[two]
        near = cosine >= cosine_threshold - ROUNDING and guards_of(one) == guards_of(two)
        return index.text[one] == index.text[two] or near

    group = query_id
    if finder.shared_parts(query_id) > _MANY_A_ROW * len(entry):
        # Rows with other guards differ in content. They are in other groups, which costs less
        # than comparing all similar rows.
        known = dict[tuple[int, tuple[str, ...]], int]()
        keys = zip(query_id.tolist(), map(guards_of, entry), strict=True)
        group = np.array([known.setdefault(key, len(known)) for key in keys])
    return finder.representatives(group, np.arange(len(entry)), says_the_same)


def guards(text: str) -> tuple[str, ...]:
    """The words of ``text`` that a near-duplicate must also have, in order.

    >>> guards("The limit must not exceed 30 MB; see max_size or HTTPServer.")
    ('must', 'not', '30', 'max_size', 'HTTPServer')
    """
    return tuple(filter(None, map(_guard, _WORD.findall(text))))


@cached_if_short(100_000)
def _guard(word: str) -> str:
    """The form of ``word`` that a near-duplicate must have; empty for plain prose."""
    lower = word.lower()
    if lower in _GUARDED or lower.endswith(("n't", "n’t")):
        return lower
    return "" if _PLAIN.fullmatch(word) else word
