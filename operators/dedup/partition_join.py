"""Finds similar sets without comparing all pairs, by their common parts.

Two sets with a Jaccard index of 0.9 differ in few tokens. Both are split by token values into
more parts than that number: then at least one part is the same in both. So only sets that share a
part are compared. Other sets hardly ever share one, however much their vocabulary overlaps.
(Arasu, Ganti and Kaushik, "Efficient exact set-similarity joins", VLDB 2006.)

Sets of 2**(n-1) to 2**n - 1 tokens are on level n and split alike. A set that may be similar
to one of a higher level is also split as on that level.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.arrays.segments import Integers, changes, offsets
from operators.dedup.token_index import TokenIndex, Words

_SETS_AT_ONCE = 2048
_ODD = np.uint64(0xA0761D6478BD642F)
_SHIFT = np.uint64(31)
_UPPER, _BITS = np.uint64(23), np.uint64(32)  # the upper 32 of a token's 55 bits choose its part


@dataclass(frozen=True)
class Parts:
    """The start of each set's parts in ``keys``, a hash of each part, and one of the ``whole``."""

    begins: Integers
    keys: Words
    whole: Words


def parts_of(sets: TokenIndex, threshold: float) -> Parts:
    """The parts of each set: two sets of at least this Jaccard index share one."""
    if not len(sets.sizes):
        return Parts(np.zeros(1, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.uint64))
    owner, level = _splits(sets.sizes, threshold)
    count = _how_many(level, threshold)
    keys: list[Words] = [np.zeros(0, np.uint64)]
    for first in range(0, len(owner), _SETS_AT_ONCE):
        cut = slice(first, first + _SETS_AT_ONCE)
        sums = _sums(sets, owner[cut], count[cut])
        part = ranges(level[cut] << 32, count[cut]).astype(np.uint64)
        sums += (part ^ (part >> _SHIFT)) * _ODD
        keys.append(sums)
    totals = np.bincount(owner, count, minlength=len(sets.sizes)).astype(np.int64)
    begins, every = offsets(totals), np.concatenate(keys)
    whole = np.add.reduceat(every, begins[:-1]) if len(every) else every
    return Parts(begins, every, whole)


def _splits(sizes: Integers, threshold: float) -> tuple[Integers, Integers]:
    """Set numbers and levels, set by set: its own level and the higher ones that it needs."""
    low = np.frexp(np.maximum(sizes, 1))[1].astype(np.int64)
    largest = np.floor(sizes / threshold + 1e-9)  # larger sets can't have the index
    high = np.maximum(np.frexp(np.maximum(largest, 1))[1], low)
    count = high - low + 1
    return np.repeat(np.arange(len(sizes)), count), ranges(low, count)


def _how_many(level: Integers, threshold: float) -> Integers:
    """Parts on a level: one more than the tokens in which two such sets may differ."""
    most = np.exp2(level) - 1
    # 1e-9: floating point must not round the last differing token away
    differing = np.floor(2 * most * (1 - threshold) / (1 + threshold) + 1e-9)
    return differing.astype(np.int64) + 1


def _sums(sets: TokenIndex, owner: Integers, count: Integers) -> Words:
    """The sum of the tokens in each part of each set."""
    begins = sets.begins[owner]
    sizes = sets.begins[owner + 1] - begins
    token = sets.tokens[ranges(begins, sizes)]
    part = (token >> _UPPER) * np.repeat(count.astype(np.uint64), sizes) >> _BITS
    part += np.repeat(offsets(count)[:-1].astype(np.uint64), sizes)
    sums = np.zeros(int(count.sum()), np.uint64)
    if len(part):
        edges = np.flatnonzero(changes(part))
        sums[part[edges].astype(np.int64)] = np.add.reduceat(token, edges)
    return sums


def ranges(begins: Integers, counts: Integers) -> Integers:
    """begins[0], begins[0] + 1, ... counts[0] of them, then those of the next.

    >>> ranges(np.array([7, 0]), np.array([2, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers: NDArray[np.int64] = np.arange(total) + np.repeat(begins - (ends - counts), counts)
    return numbers
