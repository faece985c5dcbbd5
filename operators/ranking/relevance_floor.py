"""Leaves out of a context the hits that are too weak beside the best one.

Passages that do not answer the query cost a reader and a model attention, so that a context with
room left is better than a full one.
"""

from collections.abc import Collection

import polars as pl


def above_floor(
    hits: pl.DataFrame, weak: Collection[int], *, floor: float, weak_floor: float
) -> pl.DataFrame:
    """The rows of ``hits`` with at least a share of their query's best score, that of rank 0.

    A node that reorders may leave a hit behind the first a higher score: the first stays. A query
    whose best score is not above 0 keeps all its hits: a share of it says nothing.

    Args:
        hits: columns query_id, rank and score.
        weak: the queries whose evidence is weak.
        floor: the share, 0 to 1; 0 keeps all.
        weak_floor: the share for the queries of ``weak``.

    >>> both = {"rank": [0, 1, 0, 1], "score": [1.0, 0.6, 1.0, 0.6]}
    >>> hits = pl.DataFrame({"query_id": [0, 0, 1, 1], **both})
    >>> above_floor(hits, [1], floor=0.5, weak_floor=0.8).rows()
    [(0, 0, 1.0), (0, 1, 0.6), (1, 0, 1.0)]
    """
    share = pl.when(pl.col("query_id").is_in(list(weak))).then(weak_floor).otherwise(floor)
    best = pl.col("score").get(pl.col("rank").arg_min()).over("query_id")
    return hits.filter((best <= 0) | (share == 0) | (pl.col("score") >= share * best))
