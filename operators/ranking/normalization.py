"""Normalizes the scores of two ranked lists to a scale from 0 to 1, so that they can be added.

``side_by_side`` puts the vector list and the keyword list of each corpus beside each other, one row
per query, corpus and chunk. ``by_list`` scales each list by itself. ``common_scale`` scales all
corpora alike, so that their hits can be compared: BM25 scores are sums of the weights of the same
words, and one best score of all corpora scales them. Similarities are less comparable: a model puts
code and prose at different distances from a query.

Each returns ``NORMALIZED``. ``vector_value`` and ``text_value`` are null if the corpus has no
such list, because that search did not run or failed.
"""

import math
from collections.abc import Callable, Collection, Mapping

import polars as pl

from operators.errors import check_known
from operators.frames import LINKED_HITS, NORMALIZED, empty

WORD_SIMILARITY = 0.9
"""A passage without a vector is nearly as similar as its words are good."""

_LIST = ("query_id", "corpus")
_KEY = (*_LIST, "chunk_id")
_VALUES = {"vector": "vector_value", "text": "text_value"}


def side_by_side(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, linked_hits: pl.DataFrame | None = None
) -> pl.DataFrame:
    """``NORMALIZED`` with unscaled similarities and text scores; null if a list lacks a hit.

    Args:
        vector_hits, text_hits: columns ``VECTOR_HITS`` and ``TEXT_HITS``; a chunk that occurs
            twice in a list counts at its best rank.
        linked_hits: ``LINKED_HITS``, which are in neither list; None: none.

    >>> from operators.frames import TEXT_HITS, VECTOR_HITS
    >>> rows = [(0, "wiki", 1, 0, 0.25), (0, "wiki", 2, 1, 0.5)]
    >>> near = pl.DataFrame(rows, VECTOR_HITS, orient="row")
    >>> text = pl.DataFrame([(0, "wiki", 2, 0, 9.0)], TEXT_HITS, orient="row")
    >>> both = side_by_side(near, text).sort("chunk_id")
    >>> both["chunk_id", "vector_distance", "vector_value", "text_value"].rows()
    [(1, 0.25, 0.75, None), (2, 0.5, 0.5, 9.0)]
    """
    linked_hits = empty(LINKED_HITS) if linked_hits is None else linked_hits
    if vector_hits.is_empty() and text_hits.is_empty() and linked_hits.is_empty():
        return empty(NORMALIZED)
    distance, score = pl.col("distance").fill_nan(None), pl.col("score").fill_nan(None)
    vector = vector_hits.select(
        *_KEY, vector_rank="rank", vector_distance=distance, vector_value=1 - distance
    )
    text = text_hits.select(*_KEY, text_rank="rank", text_score=score, text_value=score)
    linked = linked_hits.select(*_KEY, vector_distance=distance, vector_value=1 - distance)
    return (
        pl.concat([empty(NORMALIZED), vector, text, linked], how="diagonal")
        .group_by(_KEY, maintain_order=True)
        .agg(
            pl.min("vector_rank", "vector_distance"),
            pl.max("vector_value"),
            pl.min("text_rank"),
            pl.max("text_score", "text_value"),
        )
    )


def by_list(
    sides: pl.DataFrame,
    *,
    vector_norm: str = "min_max",
    text_norm: str = "min_max",
    silent: Mapping[str, Collection[str]] = {},
) -> pl.DataFrame:
    """``sides`` with the values of each list scaled by that list only.

    A chunk that a list lacks has the value 0, also one that links led to.

    Args:
        sides: of :func:`side_by_side`.
        vector_norm, text_norm: of :data:`NORMS`.
        silent: of :func:`~operators.context.search_outcomes.silent_corpora`.

    Raises:
        UnknownName: there is no such norm.
    """
    for name in (vector_norm, text_norm):
        check_known("normalisation", name, NORMS)
    norms = {"vector_value": NORMS[vector_norm], "text_value": NORMS[text_norm]}
    listed = {name: pl.col(name.replace("value", "rank")).is_not_null() for name in norms}
    scaled = [
        norm(pl.when(listed[name]).then(name)).fill_null(0.0).alias(name)
        for name, norm in norms.items()
    ]
    return _without_silent(sides.with_columns(scaled), silent)


def common_scale(
    sides: pl.DataFrame,
    scale: pl.DataFrame,
    *,
    depths: Mapping[str, int],
    missing_score_fraction: float = 0.0,
    silent: Mapping[str, Collection[str]] = {},
) -> pl.DataFrame:
    """``sides`` with values on the scale of all corpora.

    ``vector_value = similarity / best of all``, ``text_value = score / best of all``. The bests are
    the query's; similarities of another model have a best of their own.

    A chunk that a list lacks gets ``missing_score_fraction`` of the list's last hit: it may be no
    worse than the last hit before the cut. A list that ends before the cut lacks only chunks that
    do not match, so the fraction decreases with its length.

    Args:
        sides: of :func:`side_by_side`.
        scale: ``SCORE_SCALE``.
        depths: by corpus, the length at which a list is cut.
        missing_score_fraction: 0 to 1.
        silent: of :func:`~operators.context.search_outcomes.silent_corpora`.

    >>> from operators.frames import SCORE_SCALE, TEXT_HITS, VECTOR_HITS, empty
    >>> rows = [(0, "wiki", 1, 0, 0.5), (0, "wiki", 2, 1, 0.75)]
    >>> sides = side_by_side(pl.DataFrame(rows, VECTOR_HITS, orient="row"), empty(TEXT_HITS))
    >>> scale = [{"query_id": 0, "corpus": "wiki", "best_similarity": 1.0}]
    >>> scale = pl.DataFrame(scale, schema=SCORE_SCALE)
    >>> scaled = common_scale(sides, scale, depths={"wiki": 50})
    >>> scaled.sort("chunk_id")["vector_value"].to_list()
    [0.5, 0.25]
    """
    if sides.is_empty():
        return sides
    best = scale.select(*_LIST, "best_similarity", "best_score")
    similarities = pl.col("vector_value").filter(pl.col("vector_rank").is_not_null())
    known = sides.join(best, on=_LIST, how="left", maintain_order="left").with_columns(
        vector_last=similarities.min().clip(0).over(_LIST),
        vector_depth=1 + pl.max("vector_rank").over(_LIST),
        text_last=pl.min("text_value").clip(0).over(_LIST),
        text_depth=1 + pl.max("text_rank").over(_LIST),
        share=share_of_one(depths),
    )

    def filled(channel: str) -> pl.Expr:
        full = (pl.col(f"{channel}_depth") * pl.col("share")).clip(upper_bound=1.0)
        lacking = missing_score_fraction * full * pl.col(f"{channel}_last")
        return pl.coalesce(f"{channel}_value", lacking)

    vector = ratio(filled("vector"), pl.col("best_similarity"))
    text = ratio(filled("text"), pl.col("best_score"))
    scaled = known.with_columns(vector_value=vector, text_value=text)[NORMALIZED.names()]
    return _without_silent(scaled, silent)


def near_as_its_words(normalized: pl.DataFrame, unembedded: pl.DataFrame) -> pl.DataFrame:
    """``normalized`` with similarities for chunks that have no vector yet.

    The similarity is ``WORD_SIMILARITY`` times the text value, so that a chunk neither loses to its
    neighbours for lacking a vector nor beats them. ``unembedded`` has the columns corpus, chunk_id.
    """
    if not unembedded.height:
        return normalized
    key = pl.struct("corpus", "chunk_id")
    waits = key.is_in(unembedded.select(key).to_series().implode())
    by_words = WORD_SIMILARITY * pl.col("text_value")
    searched = pl.col("vector_value").is_not_null()
    return normalized.with_columns(
        vector_value=pl.when(waits & searched).then(by_words).otherwise("vector_value")
    )


def share_of_one(depths: Mapping[str, int]) -> pl.Expr:
    """The share that one hit is of a full list of its corpus.

    A factor, because a division by a column has other bits than one by a number (:func:`ratio`).
    """
    shares = {corpus: 1.0 / depth if depth else math.inf for corpus, depth in depths.items()}
    return pl.col("corpus").replace_strict(shares, default=None, return_dtype=pl.Float64)


def _min_max(values: pl.Expr) -> pl.Expr:
    """``(x - min) / (max - min)`` within the query's list; a list of one value gets 1."""
    low, high = values.min().over(_LIST), values.max().over(_LIST)
    scaled = pl.when(high > low).then((values - low) / (high - low)).otherwise(1.0)
    return pl.when(values.is_not_null()).then(scaled)


def _max_ratio(values: pl.Expr) -> pl.Expr:
    """``x / max`` within the query's list: min-max with the theoretical minimum, 0.

    Bruch, Gai and Ingber, TOIS 2023.
    """
    return ratio(values, values.max().over(_LIST))


def ratio(values: pl.Expr, high: pl.Expr) -> pl.Expr:
    """``values / high``; 0 for a negative or a missing value.

    Polars divides by a column of one value by multiplying with the reciprocal. Doing so always
    gives a batch the same bits as its queries one by one.
    """
    scaled = (values * (1.0 / high)).clip(0)
    return pl.when(high > 0).then(scaled).otherwise(0.0).fill_null(0.0)


NORMS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "min_max": _min_max,
    "max": _max_ratio,
    "raw": lambda values: values,
}
"""Each takes the values of many queries' lists, null if a list lacks the chunk."""


def _without_silent(
    normalized: pl.DataFrame, silent: Mapping[str, Collection[str]]
) -> pl.DataFrame:
    """``normalized`` with null values for a search without a list, if the other one has a list."""
    gone = {_VALUES[channel]: list(corpora) for channel, corpora in silent.items() if corpora}
    return normalized.with_columns(
        pl.when(~pl.col("corpus").is_in(corpora)).then(name).alias(name)
        for name, corpora in gone.items()
    )
