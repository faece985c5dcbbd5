"""Rows that stand for other rows: each carries where the others were found.

Fusion does so with one chunk that several corpora found, deduplication with near-duplicates.
"""

import numpy as np
import polars as pl

from operators.arrays.lists import flat, lists
from operators.arrays.rows import index, replaced, take
from operators.arrays.segments import Integers, changes
from operators.frames import SOURCE

_SOURCE = [field.name for field in SOURCE.fields]


def with_alternates(
    hits: pl.DataFrame, kept: Integers, others: Integers, owner: Integers
) -> pl.DataFrame:
    """The rows ``kept`` of ``hits``, in this order; each carries where its others were found.

    A row's ``alternate_sources`` are first its own, then each other row and after it that row's
    own alternates.

    Args:
        hits: columns ``UNIFIED`` and more.
        kept: row numbers.
        others: the row numbers of the others, by owner, in the order in which it carries them.
        owner: the place in ``kept`` of the owner of each of ``others``, ascending.
    """
    chosen = take(hits, kept)
    if not len(others):
        return chosen
    owners = owner[changes(owner)]
    # only the lists of these rows are taken apart; the alternates of all others stay as they are
    touched = np.concatenate([kept[owners], others])
    place = np.concatenate([np.arange(len(owners)), np.searchsorted(owners, owner)])
    sources = hits[_SOURCE].to_struct("alternate_sources")[index(others)]
    carried, carrier = flat(hits[sources.name][index(touched)])
    row = np.concatenate([np.arange(len(owners), len(touched)), carrier])
    is_carried = np.arange(len(row)) >= len(others)
    order = np.lexsort((is_carried, row, place[row]))
    every = sources.append(carried)[index(order)]
    alternates = chosen[sources.name].append(lists(every, place[row][order], len(owners)))
    # of the old lists and, after them, the new ones, each row takes its own
    number = np.arange(len(kept))
    number[owners] = len(kept) + np.arange(len(owners))
    return replaced(chosen, alternates.rechunk()[index(number)])
