"""Near-duplicates within each corpus, dropped before fusion so that they don't inflate it.

Every rule takes ``merged`` (``MERGED``) and its ``chunks`` (``CHUNKS``), or an index of them, and
returns ``DEDUPED``, ranked again. A hit without a chunk (deleted meanwhile) is dropped.
"""

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank_in_corpora, chunk_rows, index, list_numbers
from operators.arrays.segments import Integers
from operators.dedup.cosine import cosine_representatives, unit_vectors
from operators.dedup.guarded import guarded_representatives
from operators.dedup.jaccard import jaccard_representatives
from operators.dedup.newest import documents, newest_representatives
from operators.dedup.representatives import drop_duplicates
from operators.dedup.similarity_index import SimilarityIndex


def jaccard(
    merged: pl.DataFrame, chunks: pl.DataFrame, known: SimilarityIndex, *, threshold: float = 0.9
) -> pl.DataFrame:
    """``merged`` without hits whose Jaccard index with a better one reaches ``threshold``.

    ``known`` is the similarity index of the chunks.
    """
    hits, list_number, row = _present(merged, chunks)
    representative = jaccard_representatives(list_number, row, known.tokens, threshold=threshold)
    return drop_duplicates(hits, representative)


def cosine(merged: pl.DataFrame, chunks: pl.DataFrame, *, threshold: float = 0.95) -> pl.DataFrame:
    """``merged`` without hits with a cosine >= ``threshold`` to a better hit elsewhere."""
    hits, list_number, row = _present(merged, chunks)
    vectors, of = unit_vectors(chunks["embedding"]), documents(chunks)[row]
    representative = cosine_representatives(list_number, row, vectors, of, threshold=threshold)
    return drop_duplicates(hits, representative)


def guarded(
    merged: pl.DataFrame,
    chunks: pl.DataFrame,
    known: SimilarityIndex,
    *,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
) -> pl.DataFrame:
    """``merged`` without near-duplicates of better hits (:mod:`operators.dedup.guarded`).

    ``known`` is the similarity index of the chunks.
    """
    hits, list_number, row = _present(merged, chunks)
    thresholds = (jaccard_threshold, cosine_threshold)
    return drop_duplicates(hits, guarded_representatives(list_number, row, known, *thresholds))


def newest(merged: pl.DataFrame, chunks: pl.DataFrame, *, threshold: float = 0.95) -> pl.DataFrame:
    """``merged`` without near-duplicates of later documents (:mod:`operators.dedup.newest`)."""
    hits, list_number, row = _present(merged, chunks)
    rows = chunks["chunk_id", "corpus", "repo", "document_id", "doc_date"][index(row)]
    vectors = unit_vectors(chunks["embedding"])
    representative = newest_representatives(rows, list_number, row, vectors, threshold=threshold)
    return drop_duplicates(hits, representative)


def off(merged: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """``merged`` with all its near-duplicates."""
    hits, _, row = _present(merged, chunks)
    return drop_duplicates(hits, np.arange(len(row)))


def _present(merged: pl.DataFrame, chunks: pl.DataFrame) -> tuple[pl.DataFrame, Integers, Integers]:
    """The hits whose chunk exists, by corpus, query and rank; each one's list and chunk's row."""
    hits = by_rank_in_corpora(merged)
    row = chunk_rows(chunks, hits["corpus"], hits["chunk_id"].to_numpy())
    there = row >= 0
    if not there.all():
        hits, row = hits[index(np.flatnonzero(there))], row[there]
    return hits, list_numbers(hits), row
