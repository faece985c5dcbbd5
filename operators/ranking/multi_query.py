"""Fuses the lists of several texts of one question: its intent, paths, the shape of code.

Reciprocal rank fusion over the texts' lists, before the corpus merges its two channels, so that a
question asked in three ways weighs as much as one asked once.
"""

from typing import Literal

import numpy as np
import polars as pl

from operators.arrays.segments import changes, places
from operators.frames import frame_of
from operators.ranking.merge import reciprocal
from operators.ranking.total_order import permutation


def fuse_texts(
    lists: pl.DataFrame, value: Literal["distance", "score"], *, rrf_k: float = 60
) -> pl.DataFrame:
    """One list a query from the lists of its texts.

    ``VECTOR_LISTS`` become ``VECTOR_HITS``, ``TEXT_LISTS`` become ``TEXT_HITS``, by the sum over
    the texts of ``1 / (rrf_k + rank)``. A chunk keeps the best ``value``: the lowest distance,
    the highest score. The list of a query with one text stays as it is.

    >>> rows = [(0, 1, 0, 0.9), (0, 2, 1, 0.5), (1, 2, 0, 0.7)]
    >>> lists = pl.DataFrame(rows, ["text_no", "chunk_id", "rank", "score"], orient="row")
    >>> fuse_texts(lists.with_columns(query_id=0), "score", rrf_k=1)["chunk_id", "score"].rows()
    [(2, 0.7), (1, 0.9)]
    """
    text_no = lists["text_no"].to_numpy()
    if not len(text_no) or (text_no == text_no[0]).all():
        return frame_of(lists[name] for name in ("query_id", "chunk_id", "rank", value))

    query_id, chunk_id = lists["query_id"].to_numpy(), lists["chunk_id"].to_numpy()
    rank = lists["rank"].to_numpy()
    order = np.lexsort((rank, text_no, chunk_id, query_id))
    query_id, chunk_id, text_no = query_id[order], chunk_id[order], text_no[order]
    rank, values = rank[order], lists[value].to_numpy()[order]

    another = changes(query_id, chunk_id)
    once = another | changes(text_no)
    place = np.cumsum(another) - 1
    begins = np.flatnonzero(another)
    # bincount adds in the order of the rows, which is the order of the texts
    score = np.bincount(place[once], reciprocal(rank[once], rrf_k), minlength=len(begins))
    best_rank = np.minimum.reduceat(rank, begins)
    best = (np.minimum if value == "distance" else np.maximum).reduceat(values, begins)
    query_id, chunk_id = query_id[begins], chunk_id[begins]

    order = permutation(query_id, score, best_rank, best_rank, chunk_id)
    new_rank = places(query_id)
    texts = lists.group_by("query_id").agg(several=pl.col("text_no").n_unique() > 1)
    alone = ~np.isin(query_id[order], texts.filter("several")["query_id"].to_numpy())
    return pl.DataFrame(
        [
            pl.Series("query_id", query_id[order], pl.UInt32),
            pl.Series("chunk_id", chunk_id[order], pl.Int64),
            pl.Series("rank", np.where(alone, best_rank[order], new_rank), pl.UInt32),
            pl.Series(value, best[order], pl.Float64),
        ]
    )
