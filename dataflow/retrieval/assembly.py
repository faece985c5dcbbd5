"""The output of a run: results, context, citations and notes."""

from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.context import packing, passage_versions, search_outcomes
from operators.context.citations import cite
from operators.context.labels import labelled, labels_of
from operators.context.templates import label_names
from operators.context.token_counts import token_measure
from operators.context.whole_passages import whole_passages
from operators.frames import stacked
from operators.postgres import replication, undeleted_notes
from operators.postgres.search import filter_values, later_files
from operators.postgres.search import surroundings as around
from operators.postgres.store import COUNTED, CollectionInfo, Home, with_many_repos
from operators.ranking import weak_evidence as weak
from operators.ranking.evidence_level import STRONG_FROM, evidence_levels
from operators.ranking.one_a_file import in_places
from operators.ranking.query_filters import visible_parts
from operators.ranking.relevance_floor import above_floor, asked_by_text
from operators.ranking.total_order import cut
from operators.ranking.weak_evidence import BELOW
from operators.signals import exact_phrase
from operators.signals.rare_name import absent_names
from operators.versions import version_choice


@tag(stage="order", frame="FUSED")
def best_files(
    unique: pl.DataFrame, top_k: int = 10, one_a_file: bool = True, more_passages: int = 3
) -> pl.DataFrame:
    """The ``top_k`` best hits; a file has one place, and names its next passages beside it."""
    hits = unique.drop("part", "other_parts", strict=False)
    return in_places(hits, top_k, one_a_file=one_a_file, more=more_passages)


@tag(stage="order", frame="LABELS")
def labels(
    best_files: pl.DataFrame,
    relevant_hits: pl.DataFrame,
    unified: pl.DataFrame,
    chunks: pl.DataFrame,
    corpus_settings: pl.DataFrame,
    collections: dict[str, CollectionInfo | None],
    context_depth: int = 30,
) -> pl.DataFrame:
    """The labels and links of what the results and the context show."""
    shown = [best_files, cut(relevant_hits, context_depth)]
    return labels_of(shown, unified, chunks, corpus_settings, with_many_repos(collections))


@tag(stage="order", frame="SHOWN")
def results(best_files: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """The best hits, with their labels and links."""
    return labelled(best_files, labels)


@tag(stage="context", frame="FUSED")
@config.when(relevant_hits_variant="share")
def relevant_hits__share(
    unique: pl.DataFrame,
    weak_evidence: pl.DataFrame,
    queries: pl.DataFrame,
    context_floor: float = 0.5,
    weak_context_floor: float = 0.8,
) -> pl.DataFrame:
    """The hits with a share of the best score, more if evidence is weak; all of a text filter."""
    return above_floor(
        unique,
        weak_evidence["query_id"],
        asked_by_text(queries),
        floor=context_floor,
        weak_floor=weak_context_floor,
    )


@tag(stage="context", frame="FUSED")
@config.when(relevant_hits_variant="off")
def relevant_hits__off(unique: pl.DataFrame) -> pl.DataFrame:
    """All hits, also those much weaker than the best."""
    return unique


@tag(stage="context", frame="SHOWN")
def context_order(
    relevant_hits: pl.DataFrame, labels: pl.DataFrame, context_depth: int = 30
) -> pl.DataFrame:
    """The best ``context_depth`` hits in reading order, with versions of one passage marked."""
    best = cut(relevant_hits.drop("part", "other_parts", strict=False), context_depth)
    return passage_versions.newest_first(labelled(best, labels))


@tag(stage="context", io="postgres", fail_open="empty", frame="SURROUNDINGS")
@config.when_not(whole_passages_variant="off")
def surroundings(
    homes: dict[str, Home], context_order: pl.DataFrame, grown_passages: int = 3
) -> pl.DataFrame:
    """The chunks of each passage in its document, and the chunks around the best passages."""
    return around.surroundings(homes, context_order, grown=grown_passages)


@tag(stage="context", frame="SHOWN")
@config.when(whole_passages_variant="section")
def whole_passages__section(
    context_order: pl.DataFrame,
    surroundings: pl.DataFrame,
    passage_characters: int = 2_000,
    joined_passages: int = 8,
    grown_passages: int = 3,
    grown_characters: int = 2_000,
) -> pl.DataFrame:
    """The passages with neighbours joined; the best start at the start of their section."""
    return whole_passages(
        context_order,
        surroundings,
        longest=passage_characters,
        best=joined_passages,
        grown=grown_passages,
        longest_grown=grown_characters,
    )


@tag(stage="context", frame="SHOWN")
@config.when(whole_passages_variant="off")
def whole_passages__off(context_order: pl.DataFrame) -> pl.DataFrame:
    """The passages unchanged."""
    return context_order.with_columns(parts=pl.concat_list("chunk_id"))


@tag(stage="context", io="postgres", fail_open="empty", frame="NOTES")
def unmet_filters(
    homes: dict[str, Home],
    scoped_queries: pl.DataFrame,
    results: pl.DataFrame,
    corpora: dict[str, Any],
) -> pl.DataFrame:
    """For queries without results: the filter values that no visible document has."""
    return filter_values.unmet_filters(homes, scoped_queries, results, visible_parts(corpora))


@tag(stage="context", io="postgres", fail_open="empty", frame="NOTES")
def files_changed_later(
    homes: dict[str, Home], queries: pl.DataFrame, corpora: dict[str, Any]
) -> pl.DataFrame:
    """The files that a query with a past ``as_of`` leaves out because they changed later."""
    return later_files.notes(homes, queries, visible_parts(corpora))


@tag(stage="context", io="postgres", fail_open="empty", frame="NOTES")
def replica_lag(homes: dict[str, Home], queries: pl.DataFrame) -> pl.DataFrame:
    """A note if the server is a replica: it may lack the newest documents."""
    return replication.notes(homes, queries)


@tag(stage="context", frame="NOTES")
def incomplete_corpora(
    collections: dict[str, CollectionInfo | None],
    homes: dict[str, Home],
    queries: pl.DataFrame,
    corpora: dict[str, Any],
) -> pl.DataFrame:
    """Corpora not searched, or with missing documents or vectors, or those its source may lack."""
    at = {
        corpus: (info, home.corpus)
        for corpus, home in homes.items()
        if (info := collections.get(corpus))
    }
    lacks = {
        name: (info.unembedded.get(of, 0), info.corpora.get(of, 0), of in info.unfinished)
        for name, (info, of) in at.items()
    }
    seen = visible_parts(corpora)
    stale = {
        name: undeleted_notes.unnamed(name)
        if seen[name] or homes[name].store.visible.get(of)
        else undeleted_notes.sentences(name, info.undeleted[of], (homes[name].store.collection, of))
        for name, (info, of) in at.items()
        if of in info.undeleted
    }
    lacking = search_outcomes.incomplete(lacks, queries, COUNTED)
    stores = [home.store for home in homes.values()]
    plain = len({store.collection for store in stores}) == 1 and not any(seen.values())
    known = at.values() if plain and stores[0].access is None and not stores[0].visible else ()
    searched = {home.corpus for home in homes.values()}
    other = {n: c for info, _ in known for n, c in info.corpora.items() if n not in searched}
    unsearched = search_outcomes.not_searched(other, queries)
    return stacked([unsearched, lacking, undeleted_notes.notes(stale, queries)])


@tag(stage="context", frame="NOTES")
def weak_evidence(
    score_scale: pl.DataFrame,
    signals: pl.DataFrame,
    ranked: pl.DataFrame,
    intent: pl.DataFrame,
    queries: pl.DataFrame,
    weak_below: float = BELOW,
) -> pl.DataFrame:
    """A note for each query whose best hits are too weak to answer it; none for an exact text."""
    exact = pl.concat([asked_by_text(queries), exact_phrase.said_exactly(signals)])
    by_meaning = ~pl.col("query_id").is_in(exact.implode())
    absent = absent_names(ranked, intent.filter(by_meaning))
    return weak.notes(score_scale.filter(by_meaning), weak_below, absent)


@tag(stage="context", frame="EVIDENCE")
def evidence_level(
    unique: pl.DataFrame,
    score_scale: pl.DataFrame,
    signals: pl.DataFrame,
    weak_evidence: pl.DataFrame,
    strong_from: float = STRONG_FROM,
) -> pl.DataFrame:
    """How likely the first hits answer each query: strong, partial or weak evidence."""
    noted, exact = weak_evidence["query_id"], exact_phrase.said_exactly(signals)
    return evidence_levels(unique, score_scale, noted, exact, strong_from)


@tag(stage="context", frame="NOTES")
def context_notes(
    weak_evidence: pl.DataFrame,
    outcomes: pl.DataFrame,
    reduced_queries: pl.DataFrame,
    version_scope: pl.DataFrame,
    unmet_filters: pl.DataFrame,
    ranked: pl.DataFrame,
    intent: pl.DataFrame,
    replica_lag: pl.DataFrame,
    files_changed_later: pl.DataFrame,
    incomplete_corpora: pl.DataFrame,
) -> pl.DataFrame:
    """Notes for a reader of the context: what failed, was cut or is missing."""
    faults = search_outcomes.faults(outcomes)
    frames = [search_outcomes.notes(faults, reduced_queries), version_choice.notes(version_scope)]
    frames += [search_outcomes.stop_word_notes(reduced_queries)]
    frames += [exact_phrase.notes(ranked, intent), unmet_filters]
    return stacked([*frames, weak_evidence, files_changed_later, replica_lag, incomplete_corpora])


@tag(stage="context", frame="NOTES")
def notes(
    context_notes: pl.DataFrame,
    outcomes: pl.DataFrame,
    queries: pl.DataFrame,
    read_as: list[str] | None = None,
) -> pl.DataFrame:
    """Notes for a user: how options were read, the context's notes, and empty corpora."""
    options = search_outcomes.options_read(queries, read_as or [])
    return stacked([options, context_notes, search_outcomes.not_ingested(outcomes, queries)])


@tag(stage="context", frame="PACKED")
@config.when(packed_variant="characters")
def packed__characters(
    whole_passages: pl.DataFrame,
    queries: pl.DataFrame,
    context_notes: pl.DataFrame,
    corpora: dict[str, Any],
    context_budget: int = 12_000,
    inert_markdown: bool = False,
) -> pl.DataFrame:
    """The passages and notes that fit a budget in characters."""
    return packing.pack(
        whole_passages,
        queries,
        context_notes,
        budget=context_budget,
        label_names=label_names(corpora),
        inert_markdown=inert_markdown,
    )


@tag(stage="context", frame="PACKED")
@config.when(packed_variant="tokens")
def packed__tokens(
    whole_passages: pl.DataFrame,
    queries: pl.DataFrame,
    context_notes: pl.DataFrame,
    corpora: dict[str, Any],
    embedder: Any,
    context_budget: int = 12_000,
    inert_markdown: bool = False,
    vocabulary: str = "o200k_base",
) -> pl.DataFrame:
    """The passages and notes that fit a budget in tokens."""
    return packing.pack(
        whole_passages,
        queries,
        context_notes,
        budget=context_budget,
        label_names=label_names(corpora),
        inert_markdown=inert_markdown,
        measure=token_measure(embedder.count_tokens, vocabulary),
    )


@tag(stage="context", frame="CONTEXT")
def context_window(
    packed: pl.DataFrame, queries: pl.DataFrame, context_budget: int = 12_000
) -> pl.DataFrame:
    """The context of each query as one text."""
    return packing.compose(packed, queries, budget=context_budget)


@tag(stage="context", frame="CITATIONS")
def citations(packed: pl.DataFrame) -> pl.DataFrame:
    """A Markdown link for each passage of the context."""
    return cite(packed)
