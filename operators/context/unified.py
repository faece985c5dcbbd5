"""The one form that every corpus takes before fusion."""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.context.templates import describe
from operators.dedup.survivors import flat, lists
from operators.ranking.order import index, positions, take

_OF_CHUNK = [
    "document_id",
    "repo",
    "text",
    "created_at",
    "doc_date",
    "version",
    "metadata",
]
_OF_HIT = ["query_id", "rank", "vector_rank", "text_rank", "vector_distance", "text_score"]
_SOURCE = ["chunk_id", "corpus", "source_label", "source_url"]


def unify(
    deduped: pl.DataFrame, chunks: pl.DataFrame, *, corpus: str, label: str, link: str | None
) -> pl.DataFrame:
    """``UNIFIED`` of one corpus.

    Args:
        deduped: columns ``DEDUPED``; a row whose chunk is not in ``chunks`` is left out.
        chunks: columns ``CHUNKS``, one row a distinct chunk.
        corpus: the corpus's name.
        label: template of ``source_label``, see :mod:`operators.context.templates`.
        link: template of ``source_url``; None or empty: no links.

    Returns:
        The rows of ``deduped`` in their order, with what a reader sees and where it comes from;
        ``alternate_sources`` has the labels and links of the copies within the corpus.
    """
    ids = chunks["chunk_id"].to_numpy()
    row = positions(ids, deduped["chunk_id"].to_numpy())
    if (row < 0).any():
        deduped, row = deduped[index(np.flatnonzero(row >= 0))], row[row >= 0]
    named = chunks[["chunk_id", *_OF_CHUNK]].hstack(
        [
            pl.Series("corpus", [corpus], dtype=pl.String).new_from_index(0, chunks.height),
            *describe(chunks, corpus, label, link),
        ]
    )
    copies, owner = flat(deduped["duplicates"])
    place = positions(ids, copies.to_numpy())
    there = place >= 0
    sources = take(named[_SOURCE], place[there]).to_struct("alternate_sources")
    alternates = lists(sources, owner[there], deduped.height)
    own = [deduped[name] for name in _OF_HIT]
    return named[index(row)].hstack([*own, deduped["score"].alias("rrf_score"), alternates])
