"""The common form of all corpora before fusion."""

import numpy as np
import polars as pl

from operators.arrays.lists import lists, numbers
from operators.arrays.rows import chunk_rows, take
from operators.frames import DEDUPED, READ_CHUNKS, SOURCE, UNIFIED, empty, frame_of

_CHUNK_COLUMNS = [name for name in UNIFIED if name in READ_CHUNKS and name != "corpus"]
_HIT_COLUMNS = [name for name in UNIFIED if name in DEDUPED and name != "chunk_id"]
_SOURCE = pl.Schema(SOURCE.to_schema())


def unify(deduped: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """``UNIFIED``: the hits of all corpora with their texts.

    Args:
        deduped: columns ``DEDUPED``, by corpus; a row whose chunk is not in ``chunks`` is dropped.
        chunks: columns ``READ_CHUNKS``, one row per corpus and distinct chunk.

    Returns:
        The rows of ``deduped`` in order; ``alternate_sources`` has the near-duplicates within the
        corpus.
    """
    if not deduped.height or not chunks.height:
        return empty(UNIFIED)
    row = chunk_rows(chunks, deduped["corpus"], deduped["chunk_id"].to_numpy())
    if (row < 0).any():
        there = np.flatnonzero(row >= 0)
        deduped, row = take(deduped, there), row[there]
    gone, owner = numbers(deduped["duplicates"])
    other = chunk_rows(chunks, deduped["corpus"].gather(owner), gone)
    known = np.flatnonzero(other >= 0)
    other, owner = other[known], owner[known]
    read = frame_of(chunks[name] for name in _CHUNK_COLUMNS)
    copies = take(frame_of(read[name] for name in ("chunk_id", "repo")), other).get_columns()
    sources = frame_of([*copies, deduped["corpus"].gather(owner)], _SOURCE)
    own = [
        *take(read, row).get_columns(),
        *(deduped[name] for name in _HIT_COLUMNS),
        deduped["score"].alias("corpus_score"),
        lists(sources.to_struct("alternate_sources"), owner, deduped.height),
    ]
    return frame_of(own, UNIFIED)
