"""All corpora as one ranked list: fused, weighted by trigger, reranked, without near-duplicates."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.dedup import across
from operators.dedup.similarity_index import SimilarityIndex
from operators.ranking import fusion, recency, rerank
from operators.ranking.weighting import weigh, weigh_languages
from operators.signals import order
from operators.signals.rule import Rule
from operators.signals.shipped import RULES

NONE: dict[str, float] = {}
"""No rule has a weight but by the configuration."""


@tag(stage="fusion", frame="AGED")
@config.when(aged_hits_variant="step")
def aged_hits__step(
    unified: pl.DataFrame,
    queries: pl.DataFrame,
    now: datetime | None = None,
    recency_days: float = 30.0,
    recency_boost: float = 1.15,
) -> pl.DataFrame:
    """The hits with a recency factor: a constant boost up to a number of days."""
    age = recency.ages(unified, queries, now)
    factor = recency.step(age, days=recency_days, boost=recency_boost)
    return unified.hstack([pl.Series("recency", factor)])


@tag(stage="fusion", frame="AGED")
@config.when(aged_hits_variant="off")
def aged_hits__off(unified: pl.DataFrame) -> pl.DataFrame:
    """The hits without a recency factor."""
    return unified.with_columns(recency=1.0)


@tag(stage="fusion", frame="FUSED")
@config.when(fused_variant="comb_sum")
def fused__comb_sum(aged_hits: pl.DataFrame) -> pl.DataFrame:
    """One list, ordered by the scores from each corpus (CombSUM)."""
    return fusion.comb_sum(aged_hits)


@tag(stage="fusion", frame="FUSED")
@config.when(fused_variant="rrf")
def fused__rrf(aged_hits: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """One list, by reciprocal rank fusion of the ranks within each corpus."""
    return fusion.rrf(aged_hits, rrf_k=rrf_k)


@tag(stage="fusion", frame="FUSED")
@config.when(weighted_variant="by_trigger")
def weighted__by_trigger(
    fused: pl.DataFrame, trigger_weights: pl.DataFrame, languages: dict[str, float]
) -> pl.DataFrame:
    """The list, weighted by corpus for the query's trigger, and by language."""
    return weigh_languages(weigh(fused, trigger_weights), languages)


@tag(stage="fusion", frame="FUSED")
@config.when(weighted_variant="off")
def weighted__off(fused: pl.DataFrame, languages: dict[str, float]) -> pl.DataFrame:
    """The list, weighted by language only."""
    return weigh_languages(fused, languages)


@tag(stage="order", frame="SIGNALS")
def signals(
    weighted: pl.DataFrame,
    intent: pl.DataFrame,
    queries: pl.DataFrame,
    version_scope: pl.DataFrame,
    own_rules: dict[str, Rule],
    signal_weights: dict[str, float] = NONE,
    file_corpora: Sequence[str] = ("code",),
) -> pl.DataFrame:
    """What each rule says of each hit, beside its score: factors, gains and leads."""
    scope = version_scope.with_columns(queries["as_of"])
    rules = {**RULES, **own_rules}
    return order.signals(weighted, intent, scope, rules, signal_weights, file_corpora=file_corpora)


@tag(stage="order", frame="FUSED")
def ranked(weighted: pl.DataFrame, signals: pl.DataFrame) -> pl.DataFrame:
    """The list in its order: by one formula of scores and signals."""
    return order.ranked(weighted, signals)


@tag(stage="order", frame="FUSED")
@config.when(reranked_variant="off")
def reranked__off(ranked: pl.DataFrame) -> pl.DataFrame:
    """The list unchanged."""
    return ranked


@tag(stage="order", io="model", frame="FUSED")
@config.when(reranked_variant="cross_encoder")
def reranked__cross_encoder(
    ranked: pl.DataFrame,
    signals: pl.DataFrame,
    queries: pl.DataFrame,
    reranker: Any,
    rerank_depth: int = 50,
) -> pl.DataFrame:
    """The list with its top ``rerank_depth`` hits by a cross-encoder, behind those that lead."""
    read = rerank.rerank(ranked, queries, reranker, depth=rerank_depth)
    return order.ranked(read, signals.filter(kind="lead"))


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="jaccard")
def unique__jaccard(
    reranked: pl.DataFrame, similarity_index: SimilarityIndex, jaccard_threshold: float = 0.9
) -> pl.DataFrame:
    """The list without near-duplicates across corpora, by token overlap (Jaccard)."""
    return across.jaccard(reranked, similarity_index, threshold=jaccard_threshold)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="cosine")
def unique__cosine(
    reranked: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The list without near-duplicates in other documents, by cosine of the embeddings."""
    return across.cosine(reranked, chunks, threshold=cosine_threshold)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="guarded")
def unique__guarded(
    reranked: pl.DataFrame,
    similarity_index: SimilarityIndex,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
    twins: bool = True,
) -> pl.DataFrame:
    """The list without near-duplicates that have the same numbers and negations.

    With ``twins``, the sync and the async form of the same code also count once.
    """
    return across.guarded(
        reranked,
        similarity_index,
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
        twins=twins,
    )


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="newest")
def unique__newest(
    reranked: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The list without near-duplicates of documents with a later date."""
    return across.newest(reranked, chunks, threshold=cosine_threshold)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="off")
def unique__off(reranked: pl.DataFrame) -> pl.DataFrame:
    """The list unchanged."""
    return reranked
