"""Which of a ranked list's chunks stay, given which pairs are copies.

Greedy from the best: a chunk goes when it is a copy of one that stays, and belongs to the best of
those. All rules of this package return ``keepers``: for each row the row it belongs to, itself if
it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from operators.ranking.order import Column, Integers, places

Flags = NDArray[np.bool_]
Pairs = tuple[Integers, Integers]
FindCopies = Callable[[Integers, Flags], Pairs]
"""Takes row numbers (ascending) and for each whether it is new; gives the pairs (better, worse) of
rows of one query that are copies, where the worse one is new."""

BLOCK = 512
"""Places of a list that are compared at once. Copies of what stayed go before the next block is
compared within itself, so that a list of near-copies costs no pairs."""


def greedy(query_id: Column, find_copies: FindCopies, rows: Integers | None = None) -> Integers:
    """The keepers of rows that are sorted by query and rank.

    Args:
        query_id: one a row.
        find_copies: called once for each ``BLOCK`` places of the longest list, with the rows that
            stayed so far and the new ones.
        rows: the rows to look at, ascending; None: all.

    Returns:
        For each of ``rows`` the row it belongs to.
    """
    keepers = np.arange(len(query_id))
    rows = keepers.copy() if rows is None else rows
    for active, new in _blocks(query_id, rows, keepers):
        better, worse = find_copies(active, new)
        if len(better):
            order = np.lexsort((better, worse))
            settle(keepers, better[order].tolist(), worse[order].tolist())
    return keepers[rows]


def settle(keepers: Integers, better: list[int], worse: list[int]) -> None:
    """Write into ``keepers`` what the pairs decide; sorted by the worse, then the better."""
    gone: dict[int, int] = {}
    for best, copy in zip(better, worse, strict=True):
        if copy not in gone and best not in gone:
            gone[copy] = best
    if gone:
        keepers[list(gone)] = list(gone.values())


def _blocks(
    query_id: Column, rows: Integers, keepers: Integers
) -> Iterator[tuple[Integers, Flags]]:
    """The rows to compare and which are new, block by block; ``keepers`` fills meanwhile."""
    block = places(query_id[rows]) // BLOCK
    last = int(block.max(initial=0))
    if last == 0:
        yield rows, np.ones(len(rows), bool)
        return
    for number in range(last + 1):
        active = (block <= number) & (keepers[rows] == rows)
        yield rows[active], block[active] == number
