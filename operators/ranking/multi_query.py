"""Several query texts of one question (its intent, paths, the shape of code): their lists fused.

Reciprocal rank fusion over the texts' lists, before the corpus merges its two channels, so that a
question asked in three ways weighs as much as one asked once.
"""

from typing import Literal

import numpy as np
import polars as pl

from operators.arrays.segments import changes, lengths, places, starts
from operators.frames import frame_of
from operators.ranking.merge import reciprocal
from operators.ranking.total_order import permutation


def fuse_texts(
    lists: pl.DataFrame, value: Literal["distance", "score"], *, rrf_k: float = 60
) -> pl.DataFrame:
    """One list a query from the lists of its texts.

    Args:
        lists: columns ``VECTOR_LISTS`` or ``TEXT_LISTS``.
        value: the column of the channel's own number; a chunk keeps its best one, the lowest
            distance or the highest score.
        rrf_k: of the sum over the texts of ``1 / (rrf_k + rank)``.

    Returns:
        Columns ``VECTOR_HITS`` or ``TEXT_HITS``. The list of a query with one text stays as it is.
    """
    text_no = lists["text_no"].to_numpy()
    if not len(text_no) or (text_no == text_no[0]).all():
        return frame_of(lists[name] for name in ("query_id", "chunk_id", "rank", value))

    query_id, chunk_id = lists["query_id"].to_numpy(), lists["chunk_id"].to_numpy()
    rank = lists["rank"].to_numpy()
    order = np.lexsort((rank, text_no, chunk_id, query_id))
    query_id, chunk_id, text_no = query_id[order], chunk_id[order], text_no[order]
    rank, values = rank[order], lists[value].to_numpy()[order]

    another = changes(query_id) | changes(chunk_id)
    once = another | changes(text_no)
    place = np.cumsum(another) - 1
    begins = np.flatnonzero(another)
    # bincount adds in the order of the rows, which is the order of the texts
    score = np.bincount(place[once], reciprocal(rank[once], rrf_k), minlength=len(begins))
    best_rank = np.minimum.reduceat(rank, begins)
    best = (np.minimum if value == "distance" else np.maximum).reduceat(values, begins)
    first = starts(query_id)
    one_text = np.minimum.reduceat(text_no, first) == np.maximum.reduceat(text_no, first)
    alone = np.repeat(one_text, lengths(first, len(query_id)))[begins]
    query_id, chunk_id = query_id[begins], chunk_id[begins]

    order = permutation(query_id, score, best_rank, best_rank, chunk_id)
    rank = np.where(alone[order], best_rank[order], places(query_id))
    return pl.DataFrame(
        [
            pl.Series("query_id", query_id[order], pl.UInt32),
            pl.Series("chunk_id", chunk_id[order], pl.Int64),
            pl.Series("rank", rank, pl.UInt32),
            pl.Series(value, best[order], pl.Float64),
        ]
    )
