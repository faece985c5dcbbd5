"""Which of a ranked list's chunks stay, given which pairs are copies.

Greedy from the best: a chunk goes when it is a copy of one that stays, and belongs to the best of
those. All rules of this package return ``keepers``: for each row the row it belongs to, itself if
it stays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from operators.arrays.segments import Column, Integers, places

Flags = NDArray[np.bool_]
Pairs = tuple[Integers, Integers]
FindCopies = Callable[[Integers, Flags, Flags], Pairs]
"""Takes row numbers (ascending) and for each whether it may be the better and whether it may be the
worse of a pair; gives the pairs (better, worse) of rows of one query that are copies."""

Confirm = Callable[[int, int], bool]
"""Whether a found pair (better, worse) is one of copies; asked only while it matters."""

BLOCK = 512
"""Places of a list that are compared at once. Copies of what stayed go before the next block is
compared within itself, so that a list of near-copies costs no pairs."""


def greedy(
    query_id: Column,
    find_copies: FindCopies,
    rows: Integers | None = None,
    confirm: Confirm | None = None,
) -> Integers:
    """The keepers of rows that are sorted by query and rank.

    Args:
        query_id: one a row.
        find_copies: called for each ``BLOCK`` places of the longest list, first to compare the
            new rows with those that stayed so far, then to compare what is left with itself.
        rows: the rows to look at, ascending; None: all.
        confirm: asked of each found pair that would decide something; None: all are copies.

    Returns:
        For each of ``rows`` the row it belongs to.
    """
    keepers = np.arange(len(query_id))
    if not len(keepers):
        return keepers
    rows = keepers.copy() if rows is None else rows
    block = places(query_id[rows]) // BLOCK
    for number in range(int(block.max(initial=0)) + 1):
        active = (block <= number) & (keepers[rows] == rows)
        new = block[active] == number
        if number:
            settle(keepers, *find_copies(rows[active], ~new, new), confirm)
        left = rows[(block == number) & (keepers[rows] == rows)]
        every = np.ones(len(left), bool)
        settle(keepers, *find_copies(left, every, every), confirm)
    return keepers[rows]


def settle(
    keepers: Integers, better: Integers, worse: Integers, confirm: Confirm | None = None
) -> None:
    """Write into ``keepers`` what the pairs decide."""
    if not len(better):
        return
    order = np.lexsort((better, worse))
    gone: dict[int, int] = {}
    for best, copy in zip(better[order].tolist(), worse[order].tolist(), strict=True):
        if copy in gone or best in gone:
            continue
        if confirm is None or confirm(best, copy):
            gone[copy] = best
    keepers[list(gone)] = list(gone.values())
