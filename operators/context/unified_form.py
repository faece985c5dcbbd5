"""The one form that every corpus takes before fusion."""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.arrays.lists import lists, numbers
from operators.arrays.rows import index, take
from operators.arrays.segments import positions
from operators.context.templates import describe
from operators.frames import DEDUPED, READ_CHUNKS, SOURCE, UNIFIED, empty, frame_of

_OF_CHUNK = [name for name in UNIFIED if name in READ_CHUNKS and name != "corpus"]
_OF_HIT = [name for name in UNIFIED if name in DEDUPED and name != "chunk_id"]
_SOURCE = pl.Schema(SOURCE.to_schema())


def unify(
    deduped: pl.DataFrame, chunks: pl.DataFrame, *, corpus: str, label: str, link: str | None
) -> pl.DataFrame:
    """``UNIFIED`` of one corpus.

    Args:
        deduped: columns ``DEDUPED``; a row whose chunk is not in ``chunks`` is left out.
        chunks: columns ``READ_CHUNKS``, one row a distinct chunk.
        label: template of ``source_label``, see :mod:`operators.context.templates`.
        link: template of ``source_url``; None or empty: no links.

    Returns:
        The rows of ``deduped`` in their order, with the texts, labels and links of the chunks;
        ``alternate_sources`` has the labels and links of the near-duplicates within the corpus.
    """
    if not deduped.height or not chunks.height:
        return empty(UNIFIED)
    ids = chunks["chunk_id"].to_numpy()
    row = positions(ids, deduped["chunk_id"].to_numpy())
    if (row < 0).any():
        there = np.flatnonzero(row >= 0)
        deduped, row = take(deduped, there), row[there]
    columns = [chunks[name] for name in _OF_CHUNK]
    described = frame_of([*columns, *describe(chunks, corpus, label, link)])
    own = [
        *take(described, row).get_columns(),
        _everywhere(corpus, deduped.height),
        *(deduped[name] for name in _OF_HIT),
        deduped["score"].alias("corpus_score"),
        _alternates(deduped["duplicates"], described, corpus),
    ]
    return frame_of(own, UNIFIED)


def _alternates(duplicates: pl.Series, described: pl.DataFrame, corpus: str) -> pl.Series:
    """The labels and links of each row's ``duplicates`` that are among the ``described``."""
    gone, owner = numbers(duplicates)
    place = positions(described["chunk_id"].to_numpy(), gone)
    there = np.flatnonzero(place >= 0)
    named = [described[name] for name in ("chunk_id", "source_label", "source_url")]
    sources = frame_of([*named, _everywhere(corpus, described.height)], _SOURCE)
    found = sources.to_struct("alternate_sources")[index(place[there])]
    return lists(found, owner[there], len(duplicates))


def _everywhere(corpus: str, rows: int) -> pl.Series:
    return pl.Series("corpus", [corpus], dtype=pl.String).new_from_index(0, rows)
