"""A list without its near-duplicates.

Every rule of this package returns ``representative``: for each row the row that represents it,
itself if it stays. It takes ``query_id``, the query of each row (rows are sorted by query and
rank), and ``number``, each row's entry in the vectors, sets or index that it compares. No row is
lost: its representative names it.
"""

import numpy as np
import polars as pl

from operators.arrays.alternates import with_alternates
from operators.arrays.lists import lists
from operators.arrays.rows import index, list_numbers, replaced, take
from operators.arrays.segments import Integers, places


def check_threshold(measure: str, threshold: float) -> None:
    """Raise ValueError unless ``threshold`` is valid for ``measure``."""
    if not 0 < threshold <= 1:
        raise ValueError(f"a {measure} threshold must be above 0 and at most 1, got {threshold}")


def drop_duplicates(merged: pl.DataFrame, representative: Integers) -> pl.DataFrame:
    """``DEDUPED``: the rows of ``merged`` (``MERGED``) that represent themselves, ranked again.

    ``duplicates`` has the chunk_ids of the rows that each one represents, best first.
    """
    kept, gone, owner = _split(representative)
    chosen = take(merged, kept) if len(gone) else merged
    names = merged["chunk_id"][index(gone)].alias("duplicates")
    rank = pl.Series("rank", places(list_numbers(chosen)))
    return replaced(chosen, rank, lists(names, owner, len(kept)))


def absorb(hits: pl.DataFrame, representative: Integers) -> pl.DataFrame:
    """The rows of ``hits`` (``FUSED``) that represent themselves.

    Each has the sources of its duplicates in ``alternate_sources``. Order and ``rank`` are
    unchanged.
    """
    kept, gone, owner = _split(representative)
    return with_alternates(hits, kept, gone, owner) if len(gone) else hits


def _split(representative: Integers) -> tuple[Integers, Integers, Integers]:
    """The rows that stay; the rows that are dropped, by owner; and each owner's new row."""
    stays = representative == np.arange(len(representative))
    kept, gone = np.flatnonzero(stays), np.flatnonzero(~stays)
    owner = (np.cumsum(stays) - 1)[representative[gone]]
    order = np.argsort(owner, kind="stable")
    return kept, gone[order], owner[order]
