"""From the ranked list to its reader: the best results, the context, citations and notes."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from dataflow.retrieval.branches import every_parameter, from_each_corpus
from operators.context import exact_phrase, packing, passage_versions, search_outcomes
from operators.context.citations import cite
from operators.context.templates import label_names
from operators.context.token_counts import token_measure
from operators.frames import stacked
from operators.postgres import replication
from operators.postgres.search import filter_values
from operators.postgres.store import COUNTED, CollectionInfo, Home
from operators.ranking.query_filters import visible_parts
from operators.ranking.total_order import cut
from operators.versions import version_choice


@tag(stage="results")
def results(unique: pl.DataFrame, top_k: int = 10) -> pl.DataFrame:
    """The best of the list, as many as are shown."""
    return cut(unique.drop("part", "other_parts", strict=False), top_k)


@tag(stage="context")
def context_candidates(unique: pl.DataFrame, context_depth: int = 30) -> pl.DataFrame:
    """The best of the list, as many as may fill the budget of a context."""
    return cut(unique.drop("part", "other_parts", strict=False), context_depth)


@tag(stage="context")
def context_order(context_candidates: pl.DataFrame) -> pl.DataFrame:
    """The passages in reading order: of one passage the newest version first, each marked."""
    return passage_versions.newest_first(context_candidates)


@tag(stage="outcomes", io="postgres", fail_open="yes")
def unmet_filters(
    homes: dict[str, Home], queries: pl.DataFrame, results: pl.DataFrame, corpora: dict[str, Any]
) -> pl.DataFrame:
    """The filter values of a question without results that no visible document has."""
    return filter_values.unmet_filters(homes, queries, results, visible_parts(corpora))


@tag(stage="outcomes", io="postgres", fail_open="yes")
def replica_lag(homes: dict[str, Home], queries: pl.DataFrame) -> pl.DataFrame:
    """The note that the server is a replica and lacks what was ingested last."""
    return replication.notes(homes, queries)


@tag(stage="outcomes")
@from_each_corpus(held="collection")
def incomplete_corpora(
    held: dict[str, CollectionInfo], homes: dict[str, Home], queries: pl.DataFrame
) -> pl.DataFrame:
    """What corpora still lack: documents of an ingestion that has not ended, and vectors."""
    at = {corpus: (info, homes[corpus].corpus) for corpus, info in held.items()}
    lacks = {
        name: (info.unembedded.get(of, 0), info.corpora.get(of, 0), of in info.unfinished)
        for name, (info, of) in at.items()
    }
    return search_outcomes.incomplete(lacks, queries, COUNTED)


@tag(stage="outcomes")
def search_faults(outcomes: pl.DataFrame) -> list[tuple[str, str]]:
    """A corpus and a sentence for each search that failed or came too late."""
    return search_outcomes.faults(outcomes)


@tag(stage="outcomes")
def context_notes(
    search_faults: list[tuple[str, str]],
    queries: pl.DataFrame,
    version_scope: pl.DataFrame,
    unmet_filters: pl.DataFrame,
    version_order: pl.DataFrame,
    replica_lag: pl.DataFrame,
    incomplete_corpora: pl.DataFrame,
) -> pl.DataFrame:
    """What a reader of the context must know: what failed, was cut or is not here."""
    said = [search_outcomes.notes(search_faults, queries), version_choice.notes(version_scope)]
    said += [exact_phrase.notes(version_order, queries), unmet_filters]
    return stacked([*said, replica_lag, incomplete_corpora])


@tag(stage="outcomes")
def notes(
    context_notes: pl.DataFrame, outcomes: pl.DataFrame, queries: pl.DataFrame
) -> pl.DataFrame:
    """What a user must know: the notes of the context, and the corpora that hold nothing."""
    return stacked([context_notes, search_outcomes.not_ingested(outcomes, queries)])


@tag(stage="context")
@config.when(packed_variant="characters")
def packed__characters(
    context_order: pl.DataFrame,
    queries: pl.DataFrame,
    context_notes: pl.DataFrame,
    corpora: dict[str, Any],
    context_budget: int = 12_000,
    inert_markdown: bool = False,
) -> pl.DataFrame:
    """The passages and notes that fit a budget of characters."""
    return packing.pack(
        context_order,
        queries,
        context_notes,
        budget=context_budget,
        label_names=label_names(corpora),
        inert_markdown=inert_markdown,
    )


@tag(stage="context")
@config.when(packed_variant="tokens")
def packed__tokens(
    context_order: pl.DataFrame,
    queries: pl.DataFrame,
    context_notes: pl.DataFrame,
    corpora: dict[str, Any],
    embedder: Any,
    context_budget: int = 12_000,
    inert_markdown: bool = False,
    vocabulary: str = "o200k_base",
) -> pl.DataFrame:
    """The passages and notes that fit a budget of tokens."""
    return packing.pack(
        context_order,
        queries,
        context_notes,
        budget=context_budget,
        label_names=label_names(corpora),
        inert_markdown=inert_markdown,
        measure=token_measure(embedder.count_tokens, vocabulary),
    )


@tag(stage="context")
def context_window(
    packed: pl.DataFrame, queries: pl.DataFrame, context_budget: int = 12_000
) -> pl.DataFrame:
    """The context of each question as one text."""
    return packing.compose(packed, queries, budget=context_budget)


@tag(stage="context")
def citations(packed: pl.DataFrame) -> pl.DataFrame:
    """Every passage of the context, as a Markdown link."""
    return cite(packed)


@tag(stage="outcomes")
@every_parameter
def run_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Every parameter of the graph and of its corpora, as this run has it."""
    return parameters


@tag(stage="outcomes")
def run_settings(
    run_parameters: dict[str, Any],
    top_parameters: list[str],
    corpora: dict[str, Any],
    chosen_variants: dict[str, str],
    own_modules: dict[str, str],
    homes: dict[str, Home],
    embedder: Any,
    reranker_model: str | None = None,
) -> dict[str, Any]:
    """The models, collections, variants, parameters and modules that the answer was made with."""
    return {
        "model": embedder.model,
        "collections": {corpus: home.store.collection for corpus, home in homes.items()},
        "reranker": reranker_model,
        "variants": {
            **chosen_variants,
            "corpora": {name: options["config"] for name, options in corpora.items()},
        },
        "parameters": {
            **{name: run_parameters[name] for name in top_parameters},
            "corpora": {
                name: {key: run_parameters[f"{name}.{key}"] for key in options["inputs"]}
                for name, options in corpora.items()
            },
        },
        "modules": own_modules,
    }


@tag(stage="outcomes")
@from_each_corpus(stage_counts="stage_counts")
def answer_counts(
    stage_counts: dict[str, dict[str, int]],
    fused: pl.DataFrame,
    unique: pl.DataFrame,
    results: pl.DataFrame,
    citations: pl.DataFrame,
    context_window: pl.DataFrame,
) -> dict[str, Any]:
    """How many passages each stage had, and how much of the budget the context uses."""
    stages = {"fused": fused, "unique": unique, "results": results, "citations": citations}
    heights = {name: frame.height for name, frame in stages.items()}
    return {"corpora": stage_counts, **heights, "context": int(context_window["used"].sum())}


@tag(stage="outcomes")
def provenance(
    queries: pl.DataFrame,
    version_scope: pl.DataFrame,
    outcomes: pl.DataFrame,
    search_faults: list[tuple[str, str]],
    answer_counts: dict[str, Any],
    run_settings: dict[str, Any],
    max_citations: int = 8,  # what a terminal shows of them
    timings: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """How the answer came about: the searches, their settings, the counts, and what failed."""
    return {
        "searched": search_outcomes.channels(outcomes),
        "degraded": [*(said for _, said in search_faults), *version_choice.degraded(version_scope)],
        "queries": queries.height,
        **queries["texts", "trigger"].to_dict(as_series=False),
        "versions": version_scope["version_policy", "pinned", "versions_as_of", "basis"].to_dicts(),
        "counts": answer_counts,
        **run_settings,
        "timings": dict(timings or {}),
    }
