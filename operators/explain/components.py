"""The factors of a score, which give it to the last bit.

The factors come from the frames that the stages gave. Where they do not give the score, because a
caller overrode a stage, they are null: no number is shown that does not add up.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from operators.arrays.segments import Floats, starts
from operators.frames import FUSION_COMPONENTS, SCORE_FACTORS
from operators.ranking.fusion import combination
from operators.ranking.lexical_weight import of_rows
from operators.ranking.merge import check_share, reciprocal
from operators.ranking.normalization import normalise

_KEY = ["query_id", "chunk_id"]


def merge_by_rank(
    merged: pl.DataFrame, *, rrf_k: float = 60, vector_weight: float | None = None
) -> pl.DataFrame:
    """``MERGE_COMPONENTS`` of reciprocal rank fusion, of one list or of both.

    ``vector_weight`` is the share of the vector list; None: both lists count in full.
    """
    vector = reciprocal(merged["vector_rank"].to_numpy(), rrf_k)
    text = reciprocal(merged["text_rank"].to_numpy(), rrf_k)
    full = np.ones(merged.height)
    share = 1.0 if vector_weight is None else check_share(vector_weight)
    rest = 1.0 if vector_weight is None else 1 - share
    return _merge_components(merged, (full * share, vector, full * rest, text, full))


def merge_by_score(
    merged: pl.DataFrame,
    lexical_weight: pl.DataFrame | None = None,
    *,
    vector_weight: float = 0.5,
    vector_norm: str = "min_max",
    text_norm: str = "min_max",
) -> pl.DataFrame:
    """``MERGE_COMPONENTS`` of `operators.ranking.merge.convex`, with its arguments.

    ``vector_value`` and ``text_value`` are the scaled similarity and text score.
    """
    merged = merged.sort(_KEY)
    begins = starts(merged["query_id"].to_numpy())
    similarity = 1 - merged["vector_distance"].to_numpy()
    text_score = merged["text_score"].to_numpy().astype(np.float64)
    full = np.ones(merged.height)
    factors = (
        full * vector_weight,
        normalise(vector_norm, similarity, begins),
        full * (1 - vector_weight),
        normalise(text_norm, text_score, begins),
        of_rows(lexical_weight, merged["query_id"].to_numpy()),
    )
    return _merge_components(merged, factors)


def _merge_components(merged: pl.DataFrame, factors: tuple[Floats, ...]) -> pl.DataFrame:
    parts = merged.select(*_KEY, "score").with_columns(
        pl.Series(name, values) for name, values in zip(SCORE_FACTORS, factors, strict=True)
    )
    vector = pl.col("vector_weight") * pl.col("vector_value")
    text = pl.col("text_weight") * (pl.col("text_value") * pl.col("lexical_weight"))
    true = vector + text == pl.col("score")
    return parts.select(*_KEY, *(pl.when(true).then(name).alias(name) for name in SCORE_FACTORS))


def fusion_by_rank(aged_hits: pl.DataFrame, fused: pl.DataFrame, *, rrf_k: float) -> pl.DataFrame:
    """``FUSION_COMPONENTS`` where a corpus adds ``1 / (rrf_k + rank)``.

    ``aged_hits`` has columns ``UNIFIED`` and ``recency``, ``fused`` columns ``FUSED``.
    """
    part = reciprocal(aged_hits["rank"].to_numpy(), rrf_k)
    return _fusion_components(aged_hits.with_columns(pl.Series("part", part)), fused)


def fusion_by_score(aged_hits: pl.DataFrame, fused: pl.DataFrame) -> pl.DataFrame:
    """``FUSION_COMPONENTS`` where a corpus adds its merged score."""
    return _fusion_components(
        aged_hits.with_columns(part=pl.col("corpus_score").fill_null(0.0)), fused
    )


def fusion_by_combination(
    aged_hits: pl.DataFrame,
    fused: pl.DataFrame,
    vector_weights: Mapping[str, float],
    lexical_weight: pl.DataFrame | None = None,
    **options: Any,
) -> pl.DataFrame:
    """``FUSION_COMPONENTS`` of `operators.ranking.fusion.fuse_convex`, with its options.

    ``vector_value`` is the similarity over its scale, ``text_value`` the text score over the best
    of all corpora.
    """
    made = combination(aged_hits, vector_weights, lexical_weight, **options)
    factors = [pl.Series(name, getattr(made, name)) for name in SCORE_FACTORS]
    return _fusion_components(aged_hits.hstack([*factors, pl.Series("part", made.score)]), fused)


def _fusion_components(parts: pl.DataFrame, fused: pl.DataFrame) -> pl.DataFrame:
    """The parts in the order of the hits, without those that do not give the fused score."""
    own = [name for name in SCORE_FACTORS if name in parts.columns]
    # The fusion adds the parts in the order of the rows: a sum in another order has other last
    # bits. The recency of the best-ranked row counts.
    summed = (
        parts.sort("rank", maintain_order=True)
        .group_by(_KEY, maintain_order=True)
        .agg(pl.col("recency").first())
        .join(
            parts.group_by(_KEY, maintain_order=True).agg(pl.col("part").cum_sum().last()), on=_KEY
        )
        .join(fused.select(*_KEY, "score"), on=_KEY, how="left")
        .select(*_KEY, true=pl.col("part") * pl.col("recency") == pl.col("score"))
    )
    parts = parts.join(summed, on=_KEY, how="left", maintain_order="left")
    return parts.with_columns(corpus_rank="rank").select(
        pl.when("true").then(name).alias(name)
        if name in (*own, "part")
        else pl.lit(None, FUSION_COMPONENTS[name]).alias(name)
        if name in SCORE_FACTORS
        else pl.col(name)
        for name in FUSION_COMPONENTS
    )
