"""Sorting many rows by several whole numbers at once.

The numbers of a row and its place are packed into one number of 64 bits, and those are sorted: that
takes a tenth of the time of ``np.lexsort``. Questions do not mix, so that a batch is sorted some
questions at a time, which stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Packed = NDArray[np.uint64]

BLOCK = 1 << 15
"""About so many rows at a time."""

_FEW = 250  # rows that np.lexsort sorts faster
_RUNS = 100


def lexorder(*columns: NDArray[np.integer]) -> tuple[Integers, Packed]:
    """The rows in the order of ``columns``, the first counts most; equal ones stay as they are.

    Returns:
        The row numbers, and for each a number that rises from one row to the next where any column
        differs, and else stays.

    >>> order, key = lexorder(np.array([1, 0, 1]), np.array([5, 5, 5]))
    >>> order.tolist(), (key[1:] > key[:-1]).tolist()
    ([1, 0, 2], [True, False])
    """
    rows = len(columns[0])
    place = bits(rows)
    if rows > _FEW and sum(width(column) for column in columns) + place <= 64:
        packed = np.zeros(rows, np.uint64)
        for column in columns:
            packed <<= np.uint64(width(column))
            packed |= (column - column.min()).astype(np.uint64)
        packed <<= np.uint64(place)
        packed |= np.arange(rows, dtype=np.uint64)
        packed.sort()
        order = (packed & np.uint64((1 << place) - 1)).view(np.int64)
        return order, packed >> np.uint64(place)
    order = np.lexsort(columns[::-1])
    key = np.zeros(rows, np.uint64)
    for column in columns:
        ordered = column[order]
        key[1:] |= ordered[1:] != ordered[:-1]
    return order, np.cumsum(key, out=key)


def width(column: NDArray[np.integer]) -> int:
    """The bits that the numbers of ``column`` (at least one) need, counted from its lowest."""
    return bits(int(column.max()) - int(column.min()))


def bits(number: int) -> int:
    """The bits of a number from 0 on."""
    return number.bit_length()


def blocks(query_id: NDArray[np.integer]) -> Iterator[Integers]:
    """The rows of some queries at a time, about ``BLOCK`` of them, by ascending query.

    The rows of a query stay in their order. Rows come in some runs that are each by query, as lists
    that stand one after the other do; others are sorted first.
    """
    rows = len(query_id)
    if rows <= 2 * BLOCK:
        yield np.arange(rows)
        return
    edges = [0, *(np.flatnonzero(query_id[1:] < query_id[:-1]) + 1).tolist(), rows]
    if len(edges) > _RUNS:
        order = np.argsort(query_id, kind="stable")
        for block in blocks(query_id[order]):
            yield order[block]
        return
    runs = [query_id[begin:end] for begin, end in pairwise(edges)]
    step = BLOCK // _RUNS  # every so many rows one says where queries are
    seen = np.sort(np.concatenate([run[::step] for run in runs]))
    bounds = np.unique(seen[:: BLOCK // step])[1:]
    cuts = [
        [begin, *(begin + np.searchsorted(run, bounds)).tolist(), end]
        for run, (begin, end) in zip(runs, pairwise(edges), strict=True)
    ]
    for begins, ends in pairwise(zip(*cuts, strict=True)):
        yield np.concatenate([np.arange(a, b) for a, b in zip(begins, ends, strict=True)])
