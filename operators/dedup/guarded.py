"""Copies that say the same thing: a passage with one changed number is none.

A paragraph with one number or one negation changed stays above cosine 0.95 and Jaccard 0.90. So two
chunks are copies only if their texts are equal after white-space folding, or if cosine and Jaccard
are high and both have the same numbers, negations, modal words and identifiers, in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain, compress
from operator import ne

import numpy as np

from operators.arrays.segments import Column, Integers, lengths, starts
from operators.dedup import cosine
from operators.dedup.greedy import FindCopies, Flags, Pairs, greedy
from operators.dedup.jaccard import Finder, check_threshold
from operators.dedup.similarity_index import Lookalikes, SimilarityIndex

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
_OF_TEXT, _OF_ROW = 600, 300  # pairs of short vectors in the time of a text's and a row's tokens
_PLAIN = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")  # prose: lower case, capitalised or all capitals


def guarded_keepers(
    query_id: Column,
    number: Integers,
    known: Sequence[SimilarityIndex],
    *,
    jaccard_threshold: float,
    cosine_threshold: float,
) -> Integers:
    """Which row each row belongs to when copies are dropped greedily from the best.

    Args:
        query_id: the query of each row; rows are sorted by query and rank.
        number: each row's signature, counted through all of ``known``.
        known: similarity_index.
        jaccard_threshold: the least Jaccard index of copies.
        cosine_threshold: the least cosine of copies.

    Raises:
        ValueError: a threshold is out of range.
    """
    check_threshold(jaccard_threshold)
    cosine.check_threshold(cosine_threshold)
    found = Lookalikes(query_id, number, known, cosine_threshold)
    numbers = number.tolist()

    @cache
    def tokens(number: int) -> frozenset[str]:
        return frozenset(map(str.lower, found.words(number)))

    @cache
    def copies(one: int, two: int) -> bool:
        first, second = found.words(one), found.words(two)
        if first == second:
            return True
        if len(first) == len(second):  # mostly a few words were changed, and these are no guards
            changed = list(compress(zip(first, second, strict=True), map(ne, first, second)))
            size, most = len(tokens(one)), len(changed)
            least = (size - most) / (size + most)  # of the Jaccard index
            if least >= jaccard_threshold and all(
                _guards_of_piece(a) == _guards_of_piece(b) for a, b in changed
            ):
                return True
        index = _jaccard(tokens(one), tokens(two))
        return index >= jaccard_threshold and _guards(first) == _guards(second)

    return greedy(
        query_id,
        _by_tokens(found, jaccard_threshold) if _many(query_id, known) else found.pairs,
        confirm=lambda better, worse: copies(numbers[better], numbers[worse]),
    )


def _many(query_id: Column, known: Sequence[SimilarityIndex]) -> bool:
    """Whether to compare all pairs of short vectors takes longer than to hash the texts."""
    sizes = lengths(starts(query_id), len(query_id))
    texts = sum(len(one.chunk_id) for one in known)
    return int((sizes**2).sum()) > _OF_TEXT * texts + _OF_ROW * len(query_id)


def _by_tokens(found: Lookalikes, jaccard_threshold: float) -> FindCopies:
    """The pairs that ``found`` gives, without those of a lower Jaccard index; for long lists."""
    sets = [one.tokens for one in found.known]
    finder = Finder(found.query_id, found.number, sets, jaccard_threshold)

    def find(rows: Integers, may_better: Flags, may_worse: Flags) -> Pairs:
        better, worse = finder.pairs(rows, may_better, may_worse)
        some = found.near(better, worse)
        rest = np.flatnonzero(~some)
        some[rest] = found.equal(better[rest], worse[rest])
        return better[some], worse[some]

    return find


def guards(text: str) -> tuple[str, ...]:
    """The words of ``text`` that a copy must have too, in their order.

    >>> guards("The limit must not exceed 30 MB; see max_size or HTTPServer.")
    ('must', 'not', '30', 'max_size', 'HTTPServer')
    """
    return _guards(text.split())


def _guards(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(chain.from_iterable(map(_guards_of_piece, words)))


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


def _jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    """Common tokens over all tokens; of two empty sets 1."""
    common = len(one & two)
    every = len(one) + len(two) - common
    return common / every if every else 1.0
