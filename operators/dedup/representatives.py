"""What a list looks like once its near-duplicates are gone."""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.arrays.alternates import survivors
from operators.arrays.lists import lists
from operators.arrays.rows import index, replaced, take
from operators.arrays.segments import Integers, places
from operators.frames import DEDUPED, empty


def drop_copies(merged: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """``DEDUPED``: the rows of ``merged`` (``MERGED``) that stay, ranked anew.

    ``duplicates`` has the chunk_ids of what each row absorbed, best first.
    """
    if not len(keepers):
        return empty(DEDUPED)
    gone, kept = _split(keepers)
    place = np.cumsum(keepers == np.arange(len(keepers))) - 1
    chosen = take(merged, kept) if len(gone) else merged
    owner = place[keepers[gone]]
    order = np.argsort(owner, kind="stable")
    names = merged["chunk_id"][index(gone[order])].alias("duplicates")
    copies = lists(names, owner[order], len(kept))
    rank = pl.Series("rank", places(chosen["query_id"].to_numpy()))
    return replaced(chosen, rank, copies)


def absorb(hits: pl.DataFrame, keepers: Integers) -> pl.DataFrame:
    """The rows of ``hits`` (``FUSED``) that stay; each carries where its copies were found.

    Order and ``rank`` stay as they are.
    """
    gone, kept = _split(keepers)
    if not len(gone):
        return hits
    place = np.cumsum(keepers == np.arange(len(keepers))) - 1
    survivor = place[keepers[gone]]
    order = np.argsort(survivor, kind="stable")
    return survivors(hits, kept, gone[order], survivor[order])


def _split(keepers: Integers) -> tuple[Integers, Integers]:
    stays = keepers == np.arange(len(keepers))
    return np.flatnonzero(~stays), np.flatnonzero(stays)
