"""Token sets and similarity indexes, made of chunks, found again for the hits of these chunks."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import polars as pl

from operators.arrays.segments import Integers, positions


class OfChunks(Protocol):
    """Something that has one entry a chunk."""

    @property
    def chunk_id(self) -> Integers:
        """The chunk of each entry."""


T = TypeVar("T", bound=OfChunks)


def of_hits(
    hits: pl.DataFrame, known: Sequence[T], make: Callable[[pl.DataFrame], T]
) -> tuple[Sequence[T], Integers]:
    """Entries for all of ``hits``, and for each row the number of its own, through all of them.

    Args:
        hits: has the column chunk_id, and what ``make`` reads.
        known: made before, of any chunks.
        make: makes the entries that ``known`` lacks, from rows of ``hits``, each chunk once.
    """
    ids = np.concatenate([np.zeros(0, np.int64), *(one.chunk_id for one in known)])
    wanted = hits["chunk_id"].to_numpy()
    number = positions(ids, wanted)
    missing = np.flatnonzero(number < 0)
    if not len(missing):
        return known, number
    fresh = make(hits[missing[np.unique(wanted[missing], return_index=True)[1]]])
    number[missing] = len(ids) + positions(fresh.chunk_id, wanted[missing])
    return [*known, fresh], number
