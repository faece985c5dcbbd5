"""Near-duplicates by tokens: common tokens over all tokens, the Jaccard index of two sets.

All pairs of n chunks are n**2 / 2 comparisons of microseconds each. Here only the pairs that share
a part (:mod:`operators.dedup.partition_join`) are compared, exactly, so that the time grows with n.
"""

from collections.abc import Callable, Sequence

import numpy as np

from operators.arrays.segments import (
    Column,
    Flags,
    Floats,
    Integers,
    changes,
    inverse,
    lengths,
    offsets,
    places,
    starts,
)
from operators.dedup.partition_join import parts_of, ranges
from operators.dedup.representatives import check_threshold
from operators.dedup.token_index import TokenIndex, Words

Pairs = tuple[Integers, Integers]
Same = Callable[[int, int], object]

_BLOCK = 128  # places of a list that are compared at once
_PAIRS_AT_ONCE = 256  # 8 bits beside the 55 of a token
_TOKEN_BITS = np.uint64(56)
_ODD = [np.uint64(n) for n in (0x9FB21C651E98DF25, 0xA0761D6478BD642F)]


def jaccard_representatives(
    query_id: Column, number: Integers, sets: Sequence[TokenIndex], *, threshold: float
) -> Integers:
    """For each row the row that represents it: itself, or the best of its near-duplicates.

    ``number`` counts through all of ``sets``. Two empty sets are equal; an empty one equals nothing
    else.

    Raises:
        ValueError: the threshold is out of range.
    """
    finder = Finder(number, sets, threshold)
    first = finder.first_of_equal(query_id)
    rows = np.flatnonzero(first == np.arange(len(first)))
    representative = finder.representatives(query_id, rows)
    return representative[first]  # duplicates of a dropped chunk go with it


class Finder:
    """Finds the rows of one group whose sets have a Jaccard index of at least ``threshold``.

    A group is a query, or some of its rows. ``group`` has one number per row of ``number``.
    """

    def __init__(self, number: Integers, sets: Sequence[TokenIndex], threshold: float) -> None:
        check_threshold("Jaccard", threshold)
        self.number, self.sets, self.threshold = number, sets, threshold
        parts = [parts_of(one, threshold) for one in sets]
        self.whole = _joined([one.whole for one in parts])
        self.keys = _joined([one.keys for one in parts])
        self.sizes = _joined([one.sizes for one in sets])
        ends = offsets(np.array([len(one.keys) for one in parts], np.int64))
        begins = [one.begins[:-1] + end for one, end in zip(parts, ends, strict=False)]
        self.begins = _joined([*begins, ends[-1:]])

    def first_of_equal(self, group: Column) -> Integers:
        """For each row the first row of its group with an equal set."""
        key = self.whole[self.number] + group.astype(np.uint64) * _ODD[0]
        order = np.argsort(key, kind="stable")
        another = changes(key[order])
        first = np.empty(len(order), np.int64)
        first[order] = order[another][np.cumsum(another) - 1]
        return first

    def shared_parts(self, group: Column) -> int:
        """How often two rows of one group share a part: the cost of finding them all."""
        key, _ = self._parts(group, np.arange(len(self.number)))
        rows = lengths(starts(key), len(key))
        return int((rows * (rows - 1) // 2).sum())

    def representatives(
        self, group: Column, rows: Integers, same: Same = lambda best, row: True
    ) -> Integers:
        """For each row the best near-duplicate in ``rows`` of its group; else itself.

        Args:
            group: the rows of a group need not be adjacent.
            rows: the numbers of the rows that are compared, ascending.
            same: whether the first of two rows, by number, may represent the second.
        """
        representative = np.arange(len(self.number))
        if not len(rows):
            return representative
        order = np.argsort(group[rows], kind="stable")
        block = places(group[rows][order])[inverse(order)] // _BLOCK

        def settle(some: Integers, may_better: Flags, may_worse: Flags) -> None:
            gone: dict[int, int] = {}
            better, worse = self._pairs(group, some, may_better, may_worse)
            for best, row in zip(better.tolist(), worse.tolist(), strict=True):
                if row not in gone and best not in gone and same(best, row):
                    gone[row] = best
            representative[list(gone)] = list(gone.values())

        # A row that repeats a representative is dropped before the rest of its block is compared,
        # so that a list of near-duplicates costs no comparison of all pairs.
        for number_of_block in range(int(block.max(initial=0)) + 1):
            active = (block <= number_of_block) & (representative[rows] == rows)
            new = block[active] == number_of_block
            if number_of_block:
                settle(rows[active], ~new, new)
            left = rows[(block == number_of_block) & (representative[rows] == rows)]
            every = np.ones(len(left), bool)
            settle(left, every, every)
        return representative

    def _pairs(self, group: Column, rows: Integers, may_better: Flags, may_worse: Flags) -> Pairs:
        """The pairs (better, worse) of ``rows`` that reach the threshold.

        They are sorted by the worse row, then by the better one. The flags say whether a row may be
        the better or the worse one of a pair.
        """
        better, worse = self._candidates(group, rows, may_better, may_worse)
        high = self._compare(self.number[better], self.number[worse])
        return better[high], worse[high]

    def _parts(self, group: Column, rows: Integers) -> tuple[Words, Integers]:
        """A hash of each part of each of ``rows`` and its group, ascending, and the row's place."""
        number = self.number[rows]
        begins = self.begins[number]
        counts = self.begins[number + 1] - begins
        key = self.keys[ranges(begins, counts)]
        key += np.repeat(group[rows].astype(np.uint64) * _ODD[0], counts)
        key *= _ODD[1]
        bits = np.uint64(max(len(rows) - 1, 1).bit_length())
        mask = (np.uint64(1) << bits) - np.uint64(1)
        key &= ~mask
        key |= np.repeat(np.arange(len(rows), dtype=np.uint64), counts)
        key.sort()
        return key >> bits, (key & mask).astype(np.int64)

    def _candidates(
        self, group: Column, rows: Integers, may_better: Flags, may_worse: Flags
    ) -> Pairs:
        """Pairs of rows of one group that share a part, each pair once."""
        key, owner = self._parts(group, rows)
        pairs = []
        at = np.flatnonzero(key[1:] == key[:-1])
        for step in range(1, len(key)):
            if step > 1:
                at = at[: np.searchsorted(at, len(key) - step)]
                at = at[key[at] == key[at + step]]
            if not len(at):
                break
            one, two = owner[at], owner[at + step]
            some = (one != two) & may_better[one] & may_worse[two]
            pairs.append(two[some] * len(rows) + one[some])
        if not pairs:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        pair = np.unique(np.concatenate(pairs))
        better, worse = rows[pair % len(rows)], rows[pair // len(rows)]
        same = group[better] == group[worse]
        return better[same], worse[same]

    def _compare(self, one: Integers, two: Integers) -> Flags:
        """Whether each pair of sets reaches the threshold."""
        small = np.minimum(self.sizes[one], self.sizes[two])
        large = np.maximum(self.sizes[one], self.sizes[two])
        worth = np.flatnonzero(small >= (self.threshold - 1e-9) * large)
        high = np.zeros(len(one), bool)
        for begin in range(0, len(worth), _PAIRS_AT_ONCE):
            some = worth[begin : begin + _PAIRS_AT_ONCE]
            high[some] = jaccard(self.sets, one[some], two[some]) >= self.threshold
        return high


def jaccard(sets: Sequence[TokenIndex], one: Integers, two: Integers) -> Floats:
    """The Jaccard index of each pair of sets, at most 256 pairs at once; of two empty sets 1."""
    pair = np.tile(np.arange(len(one), dtype=np.uint64) << _TOKEN_BITS, 2)
    number = np.concatenate([one, two])
    keys, total, first = [], np.zeros(len(one), np.int64), 0
    for part in sets:
        side = np.flatnonzero((number >= first) & (number < first + len(part.chunk_id)))
        begins, sizes = part.begins[number[side] - first], part.sizes[number[side] - first]
        keys.append(np.repeat(pair[side], sizes) | part.tokens[ranges(begins, sizes)])
        np.add.at(total, side % len(one), sizes)
        first += len(part.chunk_id)
    key = np.sort(np.concatenate(keys))
    twice = key[:-1][key[1:] == key[:-1]]
    common = np.bincount((twice >> _TOKEN_BITS).astype(np.int64), minlength=len(one))
    total -= common
    index: Floats = np.divide(common, total, out=np.ones(len(one)), where=total > 0)
    return index


def _joined(arrays: Sequence[Column]) -> Column:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
