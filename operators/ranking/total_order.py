"""The total order of every ranked list.

Score descending, then vector rank, then text rank (absent last), then chunk_id: a total order, so
that a rerun gives the same list, and a batch the same list as its queries one by one.
"""

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, list_numbers, replaced, take
from operators.arrays.segments import places

BEST_FIRST = ("query_id", -pl.col("score"), "vector_rank", "text_rank", "chunk_id")
"""The sort columns, nulls last; a NaN score also comes last."""


def ranked_in_corpora(frame: pl.DataFrame, score: pl.Expr | pl.Series) -> pl.DataFrame:
    """As :func:`ranked`, but each corpus of a query is a list of its own; corpora by name."""
    scored = frame.with_columns(score=score)
    order = scored.select(pl.arg_sort_by("corpus", *BEST_FIRST, nulls_last=True)).to_series()
    chosen = take(scored, order.to_numpy())
    return replaced(chosen, pl.Series("rank", places(list_numbers(chosen))))


def ranked(frame: pl.DataFrame, score: pl.Expr | pl.Series) -> pl.DataFrame:
    """``frame`` ordered by ``score``, with new columns ``score`` and ``rank``.

    ``frame`` has query_id, vector_rank, text_rank (null: not in that list) and chunk_id.

    >>> hits = pl.DataFrame({"query_id": 0, "chunk_id": [7, 8], "rank": [0, 1]})
    >>> hits = hits.with_columns(vector_rank=pl.lit(None), text_rank=pl.lit(None))
    >>> ranked(hits, pl.col("rank") * 0.5)["chunk_id", "rank", "score"].rows()
    [(8, 0, 0.5), (7, 1, 0.0)]
    """
    scored = frame.with_columns(score=score)
    order = scored.select(pl.arg_sort_by(*BEST_FIRST, nulls_last=True)).to_series()
    chosen = take(scored, order.to_numpy())
    return replaced(chosen, pl.Series("rank", places(chosen["query_id"].to_numpy())))


def without_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with the ranks 0, 1, 2, ... within each query, in the order of its ranks.

    >>> without_gaps(pl.DataFrame({"query_id": 0, "rank": [4, 2]}))["rank"].to_list()
    [1, 0]
    """
    rank = pl.col("rank").rank("ordinal").over("query_id") - 1
    return frame.with_columns(rank=rank.cast(pl.UInt32))


def cut(frame: pl.DataFrame, top_k: int) -> pl.DataFrame:
    """The rows of ``frame`` among the first ``top_k`` of their query.

    Raises:
        ValueError: ``top_k`` is negative.
    """
    if top_k < 0:
        raise ValueError(f"top_k must be 0 or more, got {top_k}")
    frame = by_rank(frame)
    return take(frame, np.flatnonzero(places(frame["query_id"].to_numpy()) < top_k))
