"""Fuses the lists of several texts of one question: its intent, paths, the shape of code.

Reciprocal rank fusion over the texts' lists, before the corpus merges its two channels, so that a
question asked in three ways weighs as much as one asked once.
"""

from typing import Literal

import polars as pl

from operators.ranking.merge import reciprocal

_KEY = ("query_id", "chunk_id")


def fuse_texts(
    lists: pl.DataFrame, value: Literal["distance", "score"], *, rrf_k: float = 60
) -> pl.DataFrame:
    """One list a query from the lists of its texts.

    ``VECTOR_LISTS`` become ``VECTOR_HITS``, ``TEXT_LISTS`` become ``TEXT_HITS``, by the sum over
    the texts of ``1 / (rrf_k + rank)``. A chunk keeps the best ``value``: the lowest distance,
    the highest score (and ``coverage``, where the lists have it). The list of a query with one text
    stays as it is.

    >>> rows = [(0, 1, 0, 0.9), (0, 2, 1, 0.5), (1, 2, 0, 0.7)]
    >>> from operators.frames import TEXT_LISTS
    >>> lists = pl.DataFrame([(0, *row) for row in rows], TEXT_LISTS, orient="row")
    >>> fuse_texts(lists, "score", rrf_k=1)["chunk_id", "score"].rows()
    [(2, 0.7), (1, 0.9)]
    """
    columns = [*_KEY, "rank", value, *({"coverage"} & set(lists.columns))]
    if lists["text_no"].n_unique() < 2:
        return lists.select(columns)
    several = pl.col("text_no").n_unique().over("query_id") > 1
    best = pl.min(value) if value == "distance" else pl.max(*columns[3:])
    texts = lists.filter(several).sort("text_no", "rank").unique([*_KEY, "text_no"], keep="first")
    texts = texts.sort("text_no").with_columns(part=reciprocal("rank", rrf_k))
    found = texts.group_by(_KEY).agg(best, total=pl.sum("part"), best_rank=pl.min("rank"))
    found = found.sort("query_id", -pl.col("total"), "best_rank", "chunk_id")
    place = pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id")
    fused = found.with_columns(rank=place).select(columns)
    alone = lists.filter(~several).select(columns)
    return pl.concat([fused, alone]).sort("query_id", "rank", maintain_order=True)
