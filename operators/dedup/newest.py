"""A simple rule for versions: of near-duplicates in different files the latest stays.

The threshold is a cosine of at least 0.95, and a changed number stays above it: the rule hides
changes, and a version that a query names. It is here for comparison and is no default: ``guarded``
and the versions of a topic keep both.

The rule takes chunks from the latest date on. So the input order does not decide which of them
stay, and a dropped chunk removes no other.
"""

import numpy as np
import polars as pl

from operators.arrays.rows import index
from operators.arrays.segments import Column, Floats, Integers, inverse
from operators.dedup.cosine import cosine_representatives, unit_vectors


def deduplicate_near_duplicates(chunks: pl.DataFrame, threshold: float = 0.95) -> pl.DataFrame:
    """``chunks`` without near-duplicates of chunks in another file with a later date.

    Args:
        chunks: columns ``chunk_id``, ``corpus``, ``repo``, ``document_id``, ``doc_date`` (null: the
            oldest) and ``embedding``, any others too. Of equal dates the smaller chunk_id stays.
        threshold: the minimum cosine of two near-duplicates, above 0 and at most 1. A vector that
            is missing, zero or not finite is similar to nothing.

    Returns:
        The rows that stay, in input order.

    Raises:
        ValueError: the threshold is out of range.

    >>> from datetime import datetime
    >>> chunks = pl.DataFrame({
    ...     "chunk_id": [1, 2], "corpus": "docs", "repo": "", "document_id": ["old", "new"],
    ...     "doc_date": [datetime(2020, 1, 1), datetime(2021, 1, 1)], "embedding": [[1.0, 0.0]] * 2,
    ... })
    >>> deduplicate_near_duplicates(chunks)["document_id"].to_list()
    ['new']
    """
    rows, vectors = np.arange(len(chunks)), unit_vectors(chunks["embedding"])
    representative = newest_representatives(chunks, 0 * rows, rows, vectors, threshold=threshold)
    return chunks[index(np.flatnonzero(representative == rows))]


def newest_representatives(
    rows: pl.DataFrame, query_id: Column, number: Integers, vectors: Floats, *, threshold: float
) -> Integers:
    """For each row the row that represents it, taken from the latest date on.

    ``rows`` has the columns of :func:`deduplicate_near_duplicates`; here ``query_id`` may be in any
    order.

    Raises:
        ValueError: the threshold is out of range.
    """
    date = rows["doc_date"].cast(pl.Int64).cast(pl.Float64).fill_null(-np.inf).to_numpy()
    order = np.lexsort((rows["chunk_id"].to_numpy(), -date, query_id))
    chosen = cosine_representatives(
        query_id[order], number[order], vectors, documents(rows)[order], threshold=threshold
    )
    return order[chosen][inverse(order)]


def documents(rows: pl.DataFrame) -> Integers:
    """A number for the file of each row, from ``corpus``, ``repo`` and ``document_id``."""
    identity = pl.struct("corpus", "repo", "document_id").rank("dense")
    return rows.select(identity.cast(pl.Int64)).to_series().to_numpy()
