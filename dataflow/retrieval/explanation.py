"""Why a passage is where it is, or is not there: computed only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from hamilton.function_modifiers import config, resolve_from_config, tag

from dataflow.retrieval.branches import from_each_corpus
from operators import frames
from operators.context.search_outcomes import lone_channels
from operators.explain import components, steps
from operators.explain import dispositions as fates
from operators.explain import explain_targets as names
from operators.foundation.sanitize import clean_text
from operators.postgres import store as database
from operators.postgres.search import chunk_reader
from operators.postgres.search.chunk_lookup import locate
from operators.ranking.query_filters import narrowed, visible_repos


@tag(stage="explanation", io="postgres")
@resolve_from_config(decorate_with=from_each_corpus(merged="merged"))
def explain_targets(
    store: database.Store,
    embedder: Any,
    scoped_queries: pl.DataFrame,
    pooled_hits: pl.DataFrame,
    merged: dict[str, pl.DataFrame],
    corpora: dict[str, Any],
    explain_chunks: list[Any] | None = None,
) -> pl.DataFrame:
    """The chunks that a caller names for an explanation, found or not; none by default."""
    if not explain_chunks:
        return frames.empty(frames.EXPLAIN_TARGETS)
    labels = dict(pooled_hits["source_label", "chunk_id"].iter_rows())
    asked_for = [clean_text(one) if isinstance(one, str) else one for one in explain_chunks]
    wanted = [labels.get(name, name) for name in asked_for]
    ids = [int(name) for name in wanted if names.is_id(name)]
    rows: list[dict[str, Any]] = []
    for query in scoped_queries.iter_rows(named=True):
        asked = scoped_queries.filter(query_id=query["query_id"])
        known = _located(store, ids, wanted, query["repos"], corpora)
        visible, distances = _visible(store, embedder, asked, known, corpora)
        hits = pl.concat(merged.values()).filter(query_id=query["query_id"])
        ranks = dict(hits["chunk_id", "rank"].iter_rows())
        for name in wanted:
            for chunk_id in names.meant(name, known, ranks, distances):
                chunk = known.row(by_predicate=pl.col("chunk_id") == chunk_id, named=True)
                hidden = names.hidden(chunk, query, corpora, visible)
                own = {"query_id": query["query_id"], "hidden": hidden}
                rows.append({**chunk, **own, "vector_distance": distances.get(chunk_id)})
    return names.explain_targets_frame(rows)


def _located(
    store: database.Store,
    ids: list[int],
    wanted: list[Any],
    repos: list[str] | None,
    corpora: dict[str, Any],
) -> pl.DataFrame:
    """The chunks that the caller names, labelled; what nothing is called, paths may end with."""
    seen: dict[str, Any] = {"repos": repos, "corpus_repos": visible_repos(corpora)}
    texts = [text for name in wanted for text in names.spellings(str(name))]
    known = names.labelled(locate(store, ids, texts, **seen), corpora)
    unknown = [name for name in wanted if not names.called(name, known)]
    if not unknown:
        return known
    ends = [text for name in unknown for text in names.spellings(str(name))]
    more = names.labelled(locate(store, [], ends, by_end=True, **seen), corpora)
    return pl.concat([known, more]).unique("chunk_id", keep="first", maintain_order=True)


def _visible(
    store: database.Store,
    embedder: Any,
    asked: pl.DataFrame,
    known: pl.DataFrame,
    corpora: Mapping[str, Any],
) -> tuple[set[int], dict[int, float]]:
    """Which of the known chunks one question may see, and how far they are from it."""
    vectors = np.asarray(embedder.embed_queries(asked["texts"].item().to_list()), np.float64)
    distances: dict[int, float] = {}
    visible: set[int] = set()
    for (corpus,), some in known.group_by("corpus", maintain_order=True):
        if corpus in corpora:
            scope = narrowed(asked, str(corpus), corpora[corpus]["inputs"]["filters"])
            chunks = chunk_reader.fetch_chunks(store, str(corpus), some["chunk_id"], scope)
            visible |= set(chunks["chunk_id"])
            distances |= names.nearest(chunks, vectors)
    return visible, distances


@config.when(fused_variant="rrf")
@tag(stage="explanation")
def fusion_components__rrf(
    aged_hits: pl.DataFrame, fused: pl.DataFrame, rrf_k: float = 60.0
) -> pl.DataFrame:
    """What each fused score is made of."""
    return components.fusion_by_rank(aged_hits, fused, rrf_k=rrf_k)


@config.when(fused_variant="comb_sum")
@tag(stage="explanation")
def fusion_components__comb_sum(aged_hits: pl.DataFrame, fused: pl.DataFrame) -> pl.DataFrame:
    """What each fused score is made of."""
    return components.fusion_by_score(aged_hits, fused)


@config.when(fused_variant="convex")
@tag(stage="explanation")
@resolve_from_config(
    decorate_with=from_each_corpus(vector_weights="vector_weight", depths="search_depth")
)
def fusion_components__convex(
    aged_hits: pl.DataFrame,
    fused: pl.DataFrame,
    lexical_weight: pl.DataFrame,
    outcomes: pl.DataFrame,
    vector_weights: dict[str, float],
    depths: dict[str, int],
    corpus_normalization: float = 0.5,
    missing_score_fraction: float = 0.0,
) -> pl.DataFrame:
    """What each fused score is made of."""
    return components.fusion_by_combination(
        aged_hits,
        fused,
        vector_weights,
        lexical_weight,
        corpus_normalization=corpus_normalization,
        missing_score_fraction=missing_score_fraction,
        depths=depths,
        alone=lone_channels(outcomes),
    )


@tag(stage="explanation")
@resolve_from_config(decorate_with=from_each_corpus(merged="merged", deduped="deduped"))
def stages(
    queries: pl.DataFrame,
    outcomes: pl.DataFrame,
    merged: dict[str, pl.DataFrame],
    deduped: dict[str, pl.DataFrame],
    pooled_hits: pl.DataFrame,
    fused: pl.DataFrame,
    weighted: pl.DataFrame,
    reranked: pl.DataFrame,
    unique: pl.DataFrame,
    results: pl.DataFrame,
    packed: pl.DataFrame,
    citations: pl.DataFrame,
    explain_targets: pl.DataFrame,
) -> fates.Run:
    """The frames of all stages, side by side."""
    return fates.Run(
        queries=queries,
        outcomes=outcomes,
        merged=fates.of_all(merged),
        deduped=fates.of_all(deduped),
        pooled_hits=pooled_hits,
        fused=fused,
        weighted=weighted,
        reranked=reranked,
        unique=unique,
        results=results,
        packed=packed,
        citations=citations,
        explain_targets=explain_targets,
    )


@tag(stage="explanation")
def dispositions(
    stages: fates.Run,
    corpora: dict[str, Any],
    packed_variant: str,
    top_k: int = 10,
    context_budget: int = 12_000,
    max_citations: int = 8,
) -> pl.DataFrame:
    """What became of every result and every named chunk: its places, its fate and the reason."""
    limits = fates.Limits(
        candidates={name: one["inputs"]["search_depth"] for name, one in corpora.items()},
        top_k=top_k,
        budget=context_budget,
        unit=packed_variant,
        max_citations=max_citations,
    )
    return fates.dispositions(stages, limits)


@tag(stage="explanation")
@resolve_from_config(decorate_with=from_each_corpus(merge_components="merge_components"))
def explain(
    stages: fates.Run,
    dispositions: pl.DataFrame,
    merge_components: dict[str, pl.DataFrame],
    fusion_components: pl.DataFrame,
    queries: pl.DataFrame,
    source_weights: dict[str, dict[str, float]],
    weighted_variant: str,
    reranked_variant: str,
    context_budget: int = 12_000,
) -> pl.DataFrame:
    """Every number behind every result and every named chunk, one a row."""
    weights = None
    if weighted_variant != "off":
        weights = components.weights(stages.weighted, queries, source_weights)
    return steps.explain(
        stages,
        dispositions,
        pl.concat(merge_components.values()),
        fusion_components,
        weights,
        reranked=reranked_variant != "off",
        budget=context_budget,
    )
