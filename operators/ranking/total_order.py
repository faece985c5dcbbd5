"""The one order of every ranked list.

Score descending, then vector rank, then text rank (absent last), then chunk_id: a total order, so
that a rerun gives the same list, and a batch the same list as its queries one by one.
"""

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, replaced, take
from operators.arrays.segments import Column, Floats, Integers, places


def best_first(frame: pl.DataFrame, score: Floats) -> Integers:
    """The row numbers of ``frame`` in the order above, query by query; a NaN score comes last.

    ``frame`` has query_id, vector_rank, text_rank (null: not in that list) and chunk_id.
    """
    return permutation(
        frame["query_id"].to_numpy(),
        score,
        frame["vector_rank"].to_numpy(),
        frame["text_rank"].to_numpy(),
        frame["chunk_id"].to_numpy(),
    )


def permutation(
    query_id: Column, score: Column, vector_rank: Column, text_rank: Column, chunk_id: Column
) -> Integers:
    """As :func:`best_first`, on arrays; an absent rank is NaN, and NaN comes last."""
    return np.lexsort((chunk_id, text_rank, vector_rank, -score, query_id))


def ranked(frame: pl.DataFrame, score: Floats) -> pl.DataFrame:
    """``frame`` in the order that ``score`` gives, with new columns ``score`` and ``rank``."""
    order = best_first(frame, score)
    chosen = take(frame, order)
    rank = places(chosen["query_id"].to_numpy())
    return replaced(chosen, pl.Series("score", score[order]), pl.Series("rank", rank))


def cut(frame: pl.DataFrame, top_k: int) -> pl.DataFrame:
    """The rows of ``frame`` among the first ``top_k`` of their query.

    Raises:
        ValueError: ``top_k`` is negative.
    """
    if top_k < 0:
        raise ValueError(f"top_k must be 0 or more, got {top_k}")
    frame = by_rank(frame)
    return take(frame, np.flatnonzero(places(frame["query_id"].to_numpy()) < top_k))
