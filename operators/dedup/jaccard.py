"""Copies by their tokens: the Jaccard index of two token sets, common tokens over all tokens.

All pairs of n chunks are n**2 / 2 comparisons of 25 us and more. But two sets of a Jaccard index of
0.9 differ in few tokens. Split both into one part more than that, by the tokens' values: then at
least one part is the same in both, to the token. So only sets that share a part (its sum) are
compared, exactly; others share one hardly ever, however much their vocabulary overlaps. (Arasu,
Ganti and Kaushik, "Efficient exact set-similarity joins", VLDB 2006.)
"""

from __future__ import annotations

import numpy as np

from operators.dedup.greedy import Flags, Pairs, greedy
from operators.dedup.tokens import TokenSets, Words
from operators.ranking.order import Column, Floats, Integers

_PAIRS_AT_ONCE = 256  # 8 bits beside the 55 of a token
_TOKEN_BITS = np.uint64(56)
_ODD = [np.uint64(n) for n in (0x9FB21C651E98DF25, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)]
_SHIFT = np.uint64(31)
_SETS_AT_ONCE = 2048
_PART_SHIFT, _PART_BITS = np.uint64(23), np.uint64(32)  # the upper 32 of a token's 55 bits


def jaccard_keepers(
    query_id: Column, number: Integers, sets: TokenSets, *, threshold: float
) -> Integers:
    """Which row each row belongs to when copies are dropped greedily from the best.

    Args:
        query_id: the query of each row; rows are sorted by query and rank.
        number: each row's set in ``sets``.
        sets: token sets. Two empty ones are equal; an empty one equals nothing else.
        threshold: the Jaccard index from which on two rows are copies, above 0 and at most 1.

    Returns:
        A row number a row: its own if it stays.

    Raises:
        ValueError: the threshold is out of range.
    """
    check_threshold(threshold)
    first = _first_of_equal(query_id, _whole(sets)[number])
    rows = np.flatnonzero(first == np.arange(len(first)))
    finder = Finder(query_id[rows], number[rows], sets, threshold)
    kept = rows[greedy(query_id[rows], finder.pairs)]
    keepers = np.arange(len(first))
    keepers[rows] = kept
    return keepers[first]  # what equals a dropped chunk belongs where that one does


def check_threshold(threshold: float) -> None:
    """Raise ValueError unless ``threshold`` is a Jaccard index that makes sense as a limit."""
    if not 0 < threshold <= 1:
        raise ValueError(f"a Jaccard threshold must be above 0 and at most 1, got {threshold}")


class Finder:
    """Finds the rows of one query whose sets have at least a given Jaccard index.

    Args:
        query_id: the query of each row.
        number: each row's set in ``sets``.
        sets: token sets.
        threshold: the least index.
    """

    def __init__(
        self, query_id: Column, number: Integers, sets: TokenSets, threshold: float
    ) -> None:
        self.query_id, self.number, self.sets = query_id, number, sets
        self.threshold = threshold
        used = np.zeros(len(sets.chunk_id), bool)
        used[number] = True
        self.key_begins, self.keys = _keys(sets, used, threshold)

    def pairs(self, rows: Integers, new: Flags) -> Pairs:
        """The pairs (better, worse) of ``rows`` that are copies and whose worse row is new."""
        better, worse = self._candidates(rows, new)
        if not len(better):
            return better, worse
        copies = self._compare(self.number[better], self.number[worse])
        return better[copies], worse[copies]

    def _candidates(self, rows: Integers, new: Flags) -> Pairs:
        """Pairs of rows of one query that share a key, each pair once."""
        number = self.number[rows]
        counts = np.diff(self.key_begins)[number]
        key = self.keys[_ranges(self.key_begins[number], counts)]
        owner = np.repeat(np.arange(len(rows)), counts)
        key = (key + self.query_id[rows].astype(np.uint64)[owner] * _ODD[0]) * _ODD[1]
        bits = np.uint64(max(len(rows) - 1, 1).bit_length())
        mask = (np.uint64(1) << bits) - np.uint64(1)
        posting = np.sort((key & ~mask) | owner.astype(np.uint64))
        key, owner = posting >> bits, (posting & mask).astype(np.int64)
        found = []
        at = np.arange(len(key) - 1)
        for step in range(1, len(key)):
            at = at[: np.searchsorted(at, len(key) - step)]
            at = at[key[at] == key[at + step]]
            if not len(at):
                break
            one, two = owner[at], owner[at + step]
            some = (one != two) & new[two]
            found.append(one[some] * len(rows) + two[some])
        pair = np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)
        better, worse = rows[pair // max(len(rows), 1)], rows[pair % max(len(rows), 1)]
        same = self.query_id[better] == self.query_id[worse]
        return better[same], worse[same]

    def _compare(self, one: Integers, two: Integers) -> Flags:
        """Whether each pair of sets has the index, each distinct pair compared once."""
        many = len(self.sets.chunk_id)
        low, high = np.minimum(one, two), np.maximum(one, two)
        pair, where = np.unique(low * many + high, return_inverse=True)
        one, two = pair // many, pair % many
        sizes = self.sets.sizes
        small, large = np.minimum(sizes[one], sizes[two]), np.maximum(sizes[one], sizes[two])
        worth = np.flatnonzero(small >= (self.threshold - 1e-9) * large)
        copies = np.zeros(len(pair), bool)
        for begin in range(0, len(worth), _PAIRS_AT_ONCE):
            some = worth[begin : begin + _PAIRS_AT_ONCE]
            index = jaccard(self.sets, one[some], two[some])
            copies[some] = index >= self.threshold
        return copies[where]


def jaccard(sets: TokenSets, one: Integers, two: Integers) -> Floats:
    """The Jaccard index of each pair of sets, at most 256 pairs at once; of two empty sets 1."""
    sides = np.concatenate([one, two])
    sizes = sets.sizes[sides]
    pair = np.tile(np.arange(len(one)), 2)
    token = sets.tokens[_ranges(sets.begins[sides], sizes)]
    key = np.sort((np.repeat(pair, sizes).astype(np.uint64) << _TOKEN_BITS) | token)
    twice = key[:-1][key[1:] == key[:-1]]
    common = np.bincount((twice >> _TOKEN_BITS).astype(np.int64), minlength=len(one))
    total = sizes[: len(one)] + sizes[len(one) :] - common
    index: Floats = np.divide(common, total, out=np.ones(len(one)), where=total > 0)
    return index


def _keys(sets: TokenSets, used: Flags, threshold: float) -> tuple[Integers, Words]:
    """The sums of each set's parts, by which sets are found: where a set's begin, and the sums."""
    sizes = np.where(used, sets.sizes, 0)
    level = np.frexp(np.maximum(sizes, 1))[1]  # sizes of 2 ** (level - 1) up to 2 ** level - 1
    if threshold < 0.5:  # copies may be more than one level apart
        level = np.full_like(level, level.max(initial=0))
    up = np.flatnonzero(sizes >= threshold * np.exp2(level) - 1e-9)  # may equal one of the next
    parts = _parts(np.arange(int(level.max(initial=0)) + 2), threshold)
    counts = np.where(used, parts[level], 0)
    counts[up] += parts[level[up] + 1]
    begins = np.cumsum([0, *counts])
    keys = np.empty(begins[-1], np.uint64)
    every = np.flatnonzero(used)
    for some, at_level, begin in (
        (every, level[every], begins[every]),
        (up, level[up] + 1, begins[up] + parts[level[up]]),
    ):
        for first in range(0, len(some), _SETS_AT_ONCE):
            cut = slice(first, first + _SETS_AT_ONCE)
            count = parts[at_level[cut]]
            sums = _part_sums(sets, some[cut], count)
            owner_level = np.repeat(at_level[cut], count).astype(np.uint64)
            part = _ranges(np.zeros_like(count), count).astype(np.uint64)
            key = sums + (owner_level * _ODD[1]) + part * _ODD[2]
            keys[_ranges(begin[cut], count)] = (key ^ (key >> _SHIFT)) * _ODD[1]
    return begins, keys


def _parts(level: Integers, threshold: float) -> Integers:
    """Into how many parts sets of a level are split: one more than tokens may differ."""
    most = np.exp2(level) - 1
    return np.floor(2 * most * (1 - threshold) / (1 + threshold) + 1e-9).astype(np.int64) + 1


def _part_sums(sets: TokenSets, some: Integers, count: Integers) -> Words:
    """The sum of the tokens in each part, ``count`` parts a set; a token's value says its part."""
    sizes = sets.sizes[some]
    token = sets.tokens[_ranges(sets.begins[some], sizes)]
    first = np.cumsum(count) - count
    part = (token >> _PART_SHIFT) * np.repeat(count.astype(np.uint64), sizes) >> _PART_BITS
    part += np.repeat(first.astype(np.uint64), sizes)
    sums = np.zeros(int(count.sum()), np.uint64)
    if len(part):
        begins = np.flatnonzero(np.r_[True, part[1:] != part[:-1]])
        sums[part[begins].astype(np.int64)] = np.add.reduceat(token, begins)
    return sums


def _whole(sets: TokenSets) -> Words:
    """A hash of each whole set."""
    mixed = (sets.tokens ^ (sets.tokens >> _SHIFT)) * _ODD[2]
    sums = np.zeros(len(mixed) + 1, np.uint64)
    np.cumsum((mixed ^ (mixed >> _SHIFT)) * _ODD[1], out=sums[1:])
    return (sums[sets.begins[1:]] - sums[sets.begins[:-1]]) + sets.sizes.astype(np.uint64)


def _first_of_equal(query_id: Column, whole: Words) -> Integers:
    """For each row the first row of its query with an equal set."""
    order = np.lexsort((whole, query_id))
    query, key = query_id[order], whole[order]
    another = np.ones(len(order), bool)
    another[1:] = (query[1:] != query[:-1]) | (key[1:] != key[:-1])
    first = np.empty(len(order), np.int64)
    first[order] = order[another][np.cumsum(another) - 1] if len(order) else order
    return first


def _ranges(begins: Integers, counts: Integers) -> Integers:
    """begins[0], begins[0] + 1, ... counts[0] of them, then those of the next."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    found: Integers = np.arange(total) + np.repeat(begins - (ends - counts), counts)
    return found
