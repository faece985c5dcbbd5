"""The greedy loop of every rule: the best row stays, and later rows that are near to it go.

A row that is dropped removes no other. In a block all pairs with the rows that stay are compared at
once by ``near``, which is cheap and may be true too often; ``choose`` decides on what is left.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from operators.arrays.segments import Column, Flags, Integers, starts

_ROWS = 64  # compared at once

Near = Callable[[Integers, Integers], Flags]
"""Of rows and others: a matrix, whether each row may be a near-duplicate of each other one."""

Choose = Callable[[int, Integers], int | None]
"""Of a row and its candidates, best first: the one that represents it, or None."""


def greedy(group: Column, near: Near, choose: Choose) -> Integers:
    """For each row the row that represents it: itself, or the best of its near-duplicates.

    Rows of one ``group`` are adjacent, best first. No row is compared with another group's.
    """
    representative = np.arange(len(group))
    for begin, end in pairwise([*starts(group).tolist(), len(group)]):
        left = np.zeros(0, np.int64)
        for first in range(begin, end, _ROWS):
            rows = np.arange(first, min(first + _ROWS, end))
            better = np.append(left, rows)
            may = near(rows, better) & (better < rows[:, None])
            for offset in np.flatnonzero(may.any(axis=1)).tolist():
                candidates = better[may[offset]]
                candidates = candidates[representative[candidates] == candidates]
                best = choose(first + offset, candidates) if len(candidates) else None
                if best is not None:
                    representative[first + offset] = best
            left = better[representative[better] == better]
    return representative
