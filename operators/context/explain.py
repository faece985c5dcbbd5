"""Every number behind every result, for a person who wonders why it is where it is."""

from __future__ import annotations

import polars as pl

_KEY = ["query_id", "chunk_id"]
_OF_RESULT = [
    "query_id",
    "rank",
    "chunk_id",
    "source_label",
    "vector_rank",
    "vector_distance",
    "text_rank",
    "text_score",
    "rrf_score",
]


def explain(
    results: pl.DataFrame, recency: pl.DataFrame, fused: pl.DataFrame, weighted: pl.DataFrame
) -> pl.DataFrame:
    """One row a result, from left to right as its score came about.

    Args:
        results: columns ``FUSED``.
        recency: columns ``UNIFIED`` and ``recency``.
        fused: columns ``FUSED``, before the weights.
        weighted: columns ``FUSED``, after them.

    Returns:
        The result's place, chunk and label; its ranks, distance and score in the two searches and
        its corpus's merged score; ``corpus_rank`` and ``recency``, the factor of its age;
        ``fused_rank`` and ``fused_score``; ``weight``, the factor of its source for the trigger;
        ``score``, the value its place comes from; ``copies``, how many other places had it.
    """
    of_corpus = recency.select(*_KEY, corpus_rank="rank", recency="recency")
    before = fused.select(*_KEY, fused_rank="rank", fused_score="score")
    after = weighted.select(*_KEY, weighted_score="score")
    weight = pl.when(pl.col("fused_score") != 0).then(
        pl.col("weighted_score") / pl.col("fused_score")
    )
    return (
        results.select(*_OF_RESULT, "score", copies=pl.col("alternate_sources").list.len())
        .join(of_corpus.unique(_KEY, keep="first", maintain_order=True), on=_KEY, how="left")
        .join(before, on=_KEY, how="left")
        .join(after, on=_KEY, how="left")
        .sort("query_id", "rank")
        .select(
            *_OF_RESULT,
            "corpus_rank",
            "recency",
            "fused_rank",
            "fused_score",
            weight.alias("weight"),
            "score",
            "copies",
        )
    )
