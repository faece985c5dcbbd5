"""What a row carries of the rows that it stands for."""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.arrays.lists import flat, lists
from operators.arrays.rows import index, replaced, take
from operators.arrays.segments import Integers, changes
from operators.frames import SOURCE

_SOURCE = [field.name for field in SOURCE.fields]


def survivors(
    hits: pl.DataFrame, kept: Integers, copies: Integers, survivor: Integers
) -> pl.DataFrame:
    """The rows ``kept`` of ``hits`` in this order; each carries where its copies were found.

    To a survivor's ``alternate_sources`` comes each copy, and after each the copy's own alternates.

    Args:
        hits: columns ``UNIFIED`` and others.
        kept: row numbers.
        copies: row numbers; those of one survivor in the order in which it is to carry them.
        survivor: of each copy the place of its survivor in ``kept``, ascending.
    """
    chosen = take(hits, kept)
    if not len(copies):
        return chosen
    sources = hits[_SOURCE].to_struct("alternate_sources")[index(copies)]
    absorbing = survivor[changes(survivor)]
    owner = np.searchsorted(absorbing, survivor)
    # the alternates of other rows stay as they are
    touched = np.concatenate([kept[absorbing], copies])
    carried, carrier = flat(hits[sources.name][index(touched)])
    if len(carried):
        turn = np.arange(len(touched)) - len(absorbing)
        turn[: len(absorbing)] = -1
        row = np.concatenate([np.arange(len(absorbing), len(touched)), carrier])
        owner = np.concatenate([np.arange(len(absorbing)), owner])[row]
        is_carried = np.arange(len(row)) >= len(copies)
        order = np.lexsort((is_carried, turn[row], owner))
        sources, owner = sources.append(carried)[index(order)], owner[order]
    place = np.arange(len(kept))
    place[absorbing] = len(kept) + np.arange(len(absorbing))
    alternates = chosen[sources.name].append(lists(sources, owner, len(absorbing)))
    return replaced(chosen, alternates.rechunk()[index(place)])
