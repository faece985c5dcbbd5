"""Segments of a sorted column: their starts, their lengths, a row's position within one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Column = NDArray[Any]


def places(query_id: Column) -> NDArray[np.uint32]:
    """Each row's 0-based position within its query; the rows of a query must be adjacent.

    >>> places(np.array([4, 4, 9])).tolist()
    [0, 1, 0]
    """
    begins = starts(query_id)
    first = np.repeat(begins, lengths(begins, len(query_id)))
    return (np.arange(len(query_id)) - first).astype(np.uint32)


def starts(*columns: Column) -> Integers:
    """The first row of each query, or of each group by several columns; rows must be adjacent.

    >>> starts(np.array([4, 4, 9]), np.array([1, 2, 2])).tolist()
    [0, 1, 2]
    """
    return np.flatnonzero(changes(*columns))


def lengths(begins: Integers, total: int) -> Integers:
    """How many rows there are from each of ``begins`` to the next, of ``total``.

    >>> lengths(np.array([0, 2]), 5).tolist()
    [2, 3]
    """
    return np.concatenate((begins[1:], [total])) - begins


def changes(*columns: Column) -> Flags:
    """Whether each row differs from the previous one in any of the columns; true for the first."""
    flags = np.zeros(len(columns[0]), bool)
    flags[:1] = True
    for values in columns:
        flags[1:] |= values[1:] != values[:-1]
    return flags


def offsets(counts: Column) -> Integers:
    """The start of each of consecutive segments with these lengths, and the end.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    bounds = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=bounds[1:])
    return bounds


def inverse(order: Integers) -> Integers:
    """The position of each row in a permutation of row numbers.

    >>> inverse(np.array([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return position


def positions(keys: Column, wanted: Column) -> Integers:
    """For each of ``wanted`` the first row of ``keys`` with it; -1 if there is none.

    >>> positions(np.array([7, 5]), np.array([5, 6, 7])).tolist()
    [1, -1, 0]
    """
    if not len(keys):
        return np.full(len(wanted), -1)
    order = np.argsort(keys, kind="stable")
    rows = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    return np.where(keys[rows] == wanted, rows, -1)
