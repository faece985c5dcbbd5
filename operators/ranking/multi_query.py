"""Fuses the ranked lists of several texts of one query: its intent, paths, the shape of code.

Before the corpus merges its two channels, the lists of a channel become one, so that a query
with three texts weighs as much as a query with one.

Fusion is by score, not by rank. A passage far ahead in the list of one text stays ahead, while
reciprocal rank fusion prefers passages in the middle of two lists. BM25 scores of a title and of a
whole report differ in size, therefore each list is scaled by its own best hit.
"""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from operators.ranking.normalization import ratio, share_of_one

_LIST = ("query_id", "corpus")
_KEY = (*_LIST, "chunk_id")
_TEXT = (*_LIST, "text_no")


def fuse_texts(
    lists: pl.DataFrame,
    value: Literal["distance", "score"],
    depths: Mapping[str, int],
    *,
    missing_score_fraction: float = 0.0,
) -> pl.DataFrame:
    """One list per query and corpus from the lists of its texts.

    ``VECTOR_LISTS`` become ``VECTOR_HITS``, ``TEXT_LISTS`` become ``TEXT_HITS``. A chunk's value is
    ``best of all texts * mean over the texts of (value / best of the text)``, where the value is
    the text score or the similarity, ``1 - distance``. A chunk missing in the list of a text counts
    as in :func:`~operators.ranking.normalization.common_scale`: ``missing_score_fraction`` of the
    list's last hit, less if the list ends before the cut. So a chunk that is the best for every
    text has the best value of all, and a hit of only one of two texts has about half of it.

    ``coverage`` is the highest of the chunk, if the lists have it. The list of a query with one
    text is unchanged.

    Args:
        lists: columns ``VECTOR_LISTS`` or ``TEXT_LISTS`` and ``corpus``.
        value: the column of the score or distance.
        depths: by corpus, the length at which a list is cut.
        missing_score_fraction: 0 to 1.

    >>> rows = [(0, 1, 0, 8.0), (0, 2, 1, 6.0), (1, 2, 0, 2.0)]
    >>> from operators.frames import TEXT_LISTS
    >>> lists = pl.DataFrame([(0, *row) for row in rows], TEXT_LISTS, orient="row")
    >>> lists = lists.with_columns(corpus=pl.lit("code"))
    >>> fuse_texts(lists, "score", {"code": 50})["chunk_id", "score"].rows()
    [(2, 7.0), (1, 4.0)]
    """
    columns = [*_KEY, "rank", value, *({"coverage"} & set(lists.columns))]
    if lists["text_no"].n_unique() < 2:
        return lists.select(columns)
    several = pl.col("text_no").n_unique().over(_LIST) > 1
    raw = 1 - pl.col(value) if value == "distance" else pl.col(value)
    hits = lists.filter(several).with_columns(raw=raw.fill_nan(None))
    hits = hits.sort(*_TEXT, "rank").unique([*_TEXT, "chunk_id"], keep="first")
    hits = hits.with_columns(share=ratio(pl.col("raw"), pl.max("raw").over(_TEXT)))
    full = ((1 + pl.max("rank")) * share_of_one(depths).first()).clip(upper_bound=1.0)
    texts = hits.group_by(_TEXT).agg(lacking=missing_score_fraction * full * pl.min("share"))
    every = hits.select(_KEY).unique().join(texts, on=_LIST)
    every = every.join(hits, on=[*_TEXT, "chunk_id"], how="left").sort(*_KEY, "text_no")
    union = every.group_by(_KEY).agg(
        pl.coalesce("share", "lacking").mean(),
        pl.max("raw", *columns[5:]),
        best_rank=pl.min("rank"),
    )
    good = pl.max("raw").over(_LIST).clip(0).fill_null(0.0) * pl.col("share")
    union = union.with_columns(good=good).sort(*_LIST, -pl.col("good"), "best_rank", "chunk_id")
    rank = pl.int_range(pl.len(), dtype=pl.UInt32).over(_LIST)
    fused = union.with_columns(
        rank=rank, **{value: 1 - pl.col("good") if value == "distance" else pl.col("good")}
    ).select(columns)
    alone = lists.filter(~several).select(columns)
    return pl.concat([fused, alone]).sort("corpus", "query_id", "rank", maintain_order=True)
