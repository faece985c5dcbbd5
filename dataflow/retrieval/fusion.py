"""All corpora as one ranked list: fused, weighted by trigger, reranked, without near-duplicates."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.context.exact_phrase import phrases_first
from operators.context.named_releases import releases_first
from operators.dedup import across
from operators.dedup.similarity_index import SimilarityIndex
from operators.dedup.token_index import TokenIndex
from operators.ranking import file_evidence as files
from operators.ranking import fusion, recency, rerank
from operators.ranking.current_version import newest_stands
from operators.ranking.licence_texts import licence_factor
from operators.ranking.related import related as of_links
from operators.ranking.weighting import weigh, weigh_languages


@tag(stage="fusion")
def passage_factor(
    unified: pl.DataFrame,
    queries: pl.DataFrame,
    version_scope: pl.DataFrame,
    superseded_weight: float = 0.7,
    licence_weight: float = 0.5,
) -> pl.Series:
    """The factor of each hit: below 1 if it is superseded for its query, short, or a licence."""
    superseded = recency.outdated(unified, queries, version_scope, weight=superseded_weight)
    licence = licence_factor(unified, queries, weight=licence_weight)
    return pl.Series(superseded * licence) * unified["brevity"].fill_null(1.0)


@tag(stage="fusion", frame="AGED")
@config.when(aged_hits_variant="step")
def aged_hits__step(
    unified: pl.DataFrame,
    queries: pl.DataFrame,
    passage_factor: pl.Series,
    now: datetime | None = None,
    recency_days: float = 30.0,
    recency_boost: float = 1.15,
) -> pl.DataFrame:
    """The hits with a recency factor: a constant boost up to a number of days."""
    age = recency.ages(unified, queries, now)
    factor = recency.step(age, days=recency_days, boost=recency_boost)
    return unified.hstack([pl.Series("recency", factor) * passage_factor])


@tag(stage="fusion", frame="AGED")
@config.when(aged_hits_variant="off")
def aged_hits__off(unified: pl.DataFrame, passage_factor: pl.Series) -> pl.DataFrame:
    """The hits without a recency factor."""
    return unified.hstack([passage_factor.alias("recency")])


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


@tag(stage="order", frame="FUSED")
@config.when(related_variant="links")
def related__links(
    weighted: pl.DataFrame,
    linked_corpora: Sequence[str] = ("code",),
    by_commits: float = 0.5,
    by_reviews: float = 0.3,
    by_pull_request: float = 0.7,
    most_linked: int = 30,
) -> pl.DataFrame:
    """The list where commits and reviews raise files, and threads of a good pull request lead."""
    return of_links(
        weighted,
        corpora=linked_corpora,
        by_commits=by_commits,
        by_reviews=by_reviews,
        by_pull_request=by_pull_request,
        most_linked=most_linked,
    )


@tag(stage="order", frame="FUSED")
@config.when(related_variant="off")
def related__off(weighted: pl.DataFrame) -> pl.DataFrame:
    """The list unchanged."""
    return weighted


@tag(stage="order", frame="FUSED")
@config.when(file_evidence_variant="files")
def file_evidence__files(
    related: pl.DataFrame,
    reduced_queries: pl.DataFrame,
    evidence_corpora: Sequence[str] = ("code",),
    file_share: float = 0.2,
    file_name: float = 0.35,
    name_cover: float = 0.15,
    definition: float = 0.5,
    use: float = 1.0,
    secondary: float = 0.7,
) -> pl.DataFrame:
    """The list with code passages reordered by file-level evidence."""
    return files.file_evidence(
        related,
        reduced_queries,
        corpora=evidence_corpora,
        file_share=file_share,
        file_name=file_name,
        name_cover=name_cover,
        definition=definition,
        use=use,
        secondary=secondary,
    )


@tag(stage="order", frame="FUSED")
@config.when(file_evidence_variant="off")
def file_evidence__off(related: pl.DataFrame) -> pl.DataFrame:
    """The list unchanged."""
    return related


@tag(stage="order", frame="FUSED")
@config.when(reranked_variant="off")
def reranked__off(file_evidence: pl.DataFrame) -> pl.DataFrame:
    """The list unchanged."""
    return file_evidence


@tag(stage="order", io="model", frame="FUSED")
@config.when(reranked_variant="cross_encoder")
def reranked__cross_encoder(
    file_evidence: pl.DataFrame, queries: pl.DataFrame, reranker: Any, rerank_depth: int = 50
) -> pl.DataFrame:
    """The list with its top ``rerank_depth`` hits reordered by a cross-encoder."""
    return rerank.rerank(file_evidence, queries, reranker, depth=rerank_depth)


@tag(stage="order", frame="FUSED")
def version_order(
    reranked: pl.DataFrame, queries: pl.DataFrame, version_scope: pl.DataFrame
) -> pl.DataFrame:
    """The list with the newest version of each topic before older ones, a named release first."""
    return releases_first(newest_stands(reranked, queries, version_scope), version_scope)


@tag(stage="order", frame="FUSED")
def phrase_order(version_order: pl.DataFrame, queries: pl.DataFrame) -> pl.DataFrame:
    """The list with passages first that have a phrase of the query or what it asks of a name."""
    return phrases_first(version_order, queries)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="jaccard")
def unique__jaccard(
    phrase_order: pl.DataFrame, token_index: TokenIndex, jaccard_threshold: float = 0.9
) -> pl.DataFrame:
    """The list without near-duplicates across corpora, by token overlap (Jaccard)."""
    return across.jaccard(phrase_order, [token_index], threshold=jaccard_threshold)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="cosine")
def unique__cosine(
    phrase_order: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The list without near-duplicates in other documents, by cosine of the embeddings."""
    return across.cosine(phrase_order, chunks, threshold=cosine_threshold)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="guarded")
def unique__guarded(
    phrase_order: pl.DataFrame,
    similarity_index: SimilarityIndex,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
    twins: bool = True,
) -> pl.DataFrame:
    """The list without near-duplicates that have the same numbers and negations.

    With ``twins``, the sync and the async form of the same code also count once.
    """
    return across.guarded(
        phrase_order,
        [similarity_index],
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
        twins=twins,
    )


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="newest")
def unique__newest(
    phrase_order: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The list without near-duplicates of documents with a later date."""
    return across.newest(phrase_order, chunks, threshold=cosine_threshold)


@tag(stage="order", frame="FUSED")
@config.when(unique_variant="off")
def unique__off(phrase_order: pl.DataFrame) -> pl.DataFrame:
    """The list unchanged."""
    return phrase_order
