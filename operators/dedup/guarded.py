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
from operators.dedup.greedy import greedy
from operators.dedup.jaccard import jaccard, may_reach
from operators.dedup.representatives import check_threshold
from operators.dedup.similarity_index import SimilarityIndex
from operators.foundation.short_cache import cached_if_short

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
    entry = number.tolist()
    text_of = cache(lambda one: " ".join(index.tokens.text[one].split()))
    guards_of = cache(lambda one: guards(index.tokens.text[one]))

    def choose(row: int, candidates: Integers) -> int | None:
        one, guarded = entry[row], guards_of(entry[row])
        alike = (best for best in candidates.tolist() if guards_of(entry[best]) == guarded)
        return next((best for best in alike if is_near(one, entry[best])), None)

    def is_near(one: int, two: int) -> bool:
        if text_of(one) == text_of(two):
            return True
        cosine = index.vector[two] @ index.vector[one]
        return bool(
            cosine >= cosine_threshold - ROUNDING
            and jaccard(index.tokens, one, np.array([two])) >= jaccard_threshold
        )

    return greedy(query_id, may_reach(number, index.tokens, jaccard_threshold), choose)


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
