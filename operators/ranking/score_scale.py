"""The best scores of each query, from which the common scale of all corpora is computed."""

from collections.abc import Mapping

import polars as pl

from operators.frames import SCORE_SCALE, empty

_LIST = ("query_id", "corpus")


def score_scale(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, spaces: Mapping[str, str | None] = {}
) -> pl.DataFrame:
    """``SCORE_SCALE``: the best scores of each corpus for each query, beside the best of all.

    Text scores of all corpora are comparable, as sums of the weights of the same words.
    Similarities are comparable within one vector space.

    Args:
        vector_hits, text_hits: columns ``VECTOR_HITS`` and ``TEXT_HITS``; the latter has
            ``coverage`` if a search returns it.
        spaces: by corpus, its vector space; None: that of the driver's own model.

    >>> from operators.frames import TEXT_HITS, VECTOR_HITS
    >>> near = [(0, "code", 1, 0, 0.5), (0, "wiki", 2, 0, 0.25)]
    >>> near = pl.DataFrame(near, VECTOR_HITS, orient="row")
    >>> text = pl.DataFrame([(0, "code", 1, 0, 9.0)], TEXT_HITS, orient="row")
    >>> score_scale(near, text)["corpus", "similarity", "best_similarity", "best_score"].rows()
    [('code', 0.5, 0.75, 9.0), ('wiki', 0.75, 0.75, 9.0)]
    """
    if vector_hits.is_empty() and text_hits.is_empty():
        return empty(SCORE_SCALE)
    similarity = (1 - pl.col("distance").fill_nan(None)).max()
    near = vector_hits.group_by(_LIST).agg(similarity=similarity)
    coverage = pl.max("coverage") if "coverage" in text_hits.columns else pl.lit(None, pl.Float64)
    words = text_hits.group_by(_LIST).agg(pl.max("score"), coverage=coverage)
    both = near.join(words, on=_LIST, how="full", coalesce=True).sort("corpus", "query_id")
    space = pl.col("corpus").replace_strict(dict(spaces), default=None, return_dtype=pl.String)
    return both.with_columns(space=space).with_columns(
        best_similarity=pl.col("similarity").max().over("query_id", "space"),
        best_score=pl.col("score").max().over("query_id"),
    )[SCORE_SCALE.names()]
