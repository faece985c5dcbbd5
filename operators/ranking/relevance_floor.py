"""Leaves out of a context the hits that are too weak beside the best one.

Passages that do not answer the query cost a reader and a model attention, so that a context with
room left is better than a full one.
"""

from collections.abc import Collection

import polars as pl

TEXT_FILTERS = ("pattern", "symbol", "uses")
"""The filters of a query that say what a passage's text must have."""


def asked_by_text(queries: pl.DataFrame) -> pl.Series:
    """The ids of those ``queries`` (``QUERIES``) that say what a passage's text must have.

    Each of their hits has it, such as each caller of a function, however little the rest of the
    question is like it.
    """
    asked = (pl.col(name).fill_null("").str.strip_chars() != "" for name in TEXT_FILTERS)
    return queries.filter(pl.any_horizontal(*asked))["query_id"]


def above_floor(
    hits: pl.DataFrame,
    weak: Collection[int],
    whole: Collection[int] = (),
    *,
    floor: float,
    weak_floor: float,
) -> pl.DataFrame:
    """The rows of ``hits`` with at least a share of their query's best score, that of rank 0.

    The first hit stays, also where a node that reorders left a later one with a higher score. A
    query whose best score is not above 0 keeps all its hits: a share of it says nothing.

    Args:
        hits: columns query_id, rank and score.
        weak: the queries whose evidence is weak.
        whole: the queries that keep all hits.
        floor: the share, 0 to 1; 0 keeps all.
        weak_floor: the share for the queries of ``weak``.

    >>> both = {"rank": [0, 1, 0, 1], "score": [1.0, 0.6, 1.0, 0.6]}
    >>> hits = pl.DataFrame({"query_id": [0, 0, 1, 1], **both})
    >>> above_floor(hits, [1], floor=0.5, weak_floor=0.8).rows()
    [(0, 0, 1.0), (0, 1, 0.6), (1, 0, 1.0)]
    """
    of = pl.col("query_id")
    share = pl.when(of.is_in(list(weak))).then(weak_floor).otherwise(floor)
    best = pl.col("score").get(pl.col("rank").arg_min()).over("query_id")
    kept = of.is_in(list(whole)) | (best <= 0) | (share == 0)
    return hits.filter(kept | (pl.col("score") >= share * best))
