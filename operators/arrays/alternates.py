"""Rows that represent other rows: each lists the sources of the others.

Fusion merges the hits of one chunk in several corpora, deduplication merges near-duplicates.
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
    """The rows ``kept`` of ``hits``, in this order; each lists the sources of its others.

    A row's ``alternate_sources`` are first its own, then each other row, followed by that row's own
    alternates.

    Args:
        hits: columns ``UNIFIED`` and more.
        kept: row numbers.
        others: the row numbers of the others, by owner, in the order of its list.
        owner: the position in ``kept`` of the owner of each of ``others``, ascending.
    """
    chosen = take(hits, kept)
    if not len(others):
        return chosen
    owners = owner[changes(owner)]
    # flatten only the lists of these rows; the alternates of all others stay unchanged
    touched = np.concatenate([kept[owners], others])
    position = np.concatenate([np.arange(len(owners)), np.searchsorted(owners, owner)])
    sources = hits[_SOURCE].to_struct("alternate_sources")[index(others)]
    carried, carrier = flat(hits[sources.name][index(touched)])
    row = np.concatenate([np.arange(len(owners), len(touched)), carrier])
    is_carried = np.arange(len(row)) >= len(others)
    order = np.lexsort((is_carried, row, position[row]))
    every = sources.append(carried)[index(order)]
    alternates = chosen[sources.name].append(lists(every, position[row][order], len(owners)))
    # each row selects its list from the old ones, followed by the new ones
    number = np.arange(len(kept))
    number[owners] = len(kept) + np.arange(len(owners))
    return replaced(chosen, alternates.rechunk()[index(number)])
