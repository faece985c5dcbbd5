"""The best scores of each question, from which a scale follows that all corpora share."""

from collections.abc import Mapping

import polars as pl

from operators.frames import BEST_SCORES, SCORE_SCALE, empty


def best_scores(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, *, space: str | None = None
) -> pl.DataFrame:
    """``BEST_SCORES``: how well the best passages of a corpus match each question.

    Args:
        vector_hits, text_hits: columns ``VECTOR_HITS`` and ``TEXT_HITS``; the latter has
            ``coverage`` if its search knows it.
        space: the corpus's vector space; None: that of the driver's own model.
    """
    near = vector_hits.group_by("query_id").agg(
        similarity=(1 - pl.col("distance").fill_nan(None)).max()
    )
    values = ["score", *({"coverage"} & set(text_hits.columns))]
    words = text_hits.group_by("query_id").agg(pl.max(*values))
    both = near.join(words, on="query_id", how="full", coalesce=True).with_columns(
        space=pl.lit(space, pl.String)
    )
    found = pl.concat([empty(BEST_SCORES), both], how="diagonal")
    return found.sort("query_id").select(list(BEST_SCORES))


def score_scale(best: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """``SCORE_SCALE``: the best scores of each corpus beside the best of all.

    Text scores of all corpora are comparable, as sums of the weights of the same words.
    Similarities are comparable within one vector space.

    Args:
        best: the ``BEST_SCORES`` of each corpus, by its name.

    >>> row = {"query_id": 0, "space": None, "coverage": None}
    >>> code, wiki = [(0.5, 9.0)], [(0.7, 4.0)]
    >>> each = {
    ...     name: pl.DataFrame(of, ["similarity", "score"], orient="row").with_columns(
    ...         **{key: pl.lit(value) for key, value in row.items()}
    ...     )
    ...     for name, of in {"code": code, "wiki": wiki}.items()
    ... }
    >>> score_scale(each)["corpus", "best_similarity", "best_score"].rows()
    [('code', 0.7, 9.0), ('wiki', 0.7, 9.0)]
    """
    named = [frame.with_columns(corpus=pl.lit(name)) for name, frame in best.items()]
    every = pl.concat([empty(SCORE_SCALE), *named], how="diagonal_relaxed")
    return every.with_columns(
        best_similarity=pl.col("similarity").max().over("query_id", "space"),
        best_score=pl.col("score").max().over("query_id"),
    ).select(pl.col(name).cast(kind) for name, kind in SCORE_SCALE.items())
