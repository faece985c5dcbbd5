"""The best scores of each query, from which the common scale of all corpora is computed."""

from collections.abc import Mapping

import polars as pl

from operators.frames import BEST_SCORES, SCORE_SCALE, empty


def best_scores(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, *, space: str | None = None
) -> pl.DataFrame:
    """``BEST_SCORES``: the best scores of a corpus for each query.

    Args:
        vector_hits, text_hits: columns ``VECTOR_HITS`` and ``TEXT_HITS``; the latter has
            ``coverage`` if its search returns it.
        space: the corpus's vector space; None: that of the driver's own model.
    """
    if vector_hits.is_empty() and text_hits.is_empty():
        return empty(BEST_SCORES)
    similarity = (1 - pl.col("distance").fill_nan(None)).max()
    near = vector_hits.group_by("query_id").agg(similarity=similarity)
    coverage = pl.max("coverage") if "coverage" in text_hits.columns else pl.lit(None, pl.Float64)
    words = text_hits.group_by("query_id").agg(pl.max("score"), coverage=coverage)
    both = near.join(words, on="query_id", how="full", coalesce=True)
    named = both.with_columns(space=pl.lit(space, pl.String))
    return named.select(BEST_SCORES.names()).sort("query_id")


def score_scale(best: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """``SCORE_SCALE``: the best scores of each corpus beside the best of all.

    Text scores of all corpora are comparable, as sums of the weights of the same words.
    Similarities are comparable within one vector space.

    Args:
        best: the ``BEST_SCORES`` of each corpus, by its name.

    >>> rows = {"code": (0, None, 0.5, 9.0, None), "wiki": (0, None, 0.7, 4.0, None)}
    >>> best = {name: pl.DataFrame([row], BEST_SCORES, orient="row") for name, row in rows.items()}
    >>> score_scale(best)["corpus", "best_similarity", "best_score"].rows()
    [('code', 0.7, 9.0), ('wiki', 0.7, 9.0)]
    """
    named = [frame.with_columns(corpus=pl.lit(name)) for name, frame in best.items()]
    every = pl.concat([empty(SCORE_SCALE), *named], how="diagonal")
    return every.with_columns(
        best_similarity=pl.col("similarity").max().over("query_id", "space"),
        best_score=pl.col("score").max().over("query_id"),
    )
