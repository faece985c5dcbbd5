"""One corpus: searched by meaning and by words, merged, freed of copies, brought into one form.

The graph has these nodes once for each corpus of the configuration, under the corpus's name. What
is tagged ``fail_open`` may fail without taking the other corpora along.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from hamilton.function_modifiers import (
    config,
    extract_fields,
    group,
    inject,
    resolve_from_config,
    source,
    tag,
)

from operators import frames
from operators.context import search_outcomes as happened
from operators.context.unified_form import unify
from operators.dedup import within
from operators.dedup.similarity_index import SimilarityIndex, index_similarity
from operators.dedup.token_index import TokenIndex, index_tokens
from operators.explain import components
from operators.postgres import store as database
from operators.postgres.schema.indexes import EXACT_SCAN_MAX_ROWS
from operators.postgres.search import chunk_reader
from operators.postgres.search import text_search as words
from operators.postgres.search import vector_search as vectors
from operators.ranking import merge
from operators.ranking.multi_query import fuse_texts
from operators.ranking.query_filters import narrowed


def _searched(
    channel: str,
    corpus: str,
    collection: database.CollectionInfo,
    queries: pl.DataFrame,
    filters: dict[str, Any],
    find: Callable[[pl.DataFrame], pl.DataFrame],
) -> dict[str, pl.DataFrame]:
    """The lists that ``find`` gives for the queries that ask this corpus, and what happened."""
    schema = frames.VECTOR_LISTS if channel == "vector" else frames.TEXT_LISTS
    asked = narrowed(queries, corpus, filters)
    found, outcome = frames.empty(schema), frames.empty(frames.OUTCOMES)
    if corpus not in collection.corpora and asked.height:
        outcome = happened.absent(corpus, channel)
    elif asked.height:
        began = perf_counter()
        found = find(asked)
        outcome = happened.searched(corpus, channel, found.height, (perf_counter() - began) * 1000)
    return {f"{channel}_lists": found, f"{channel}_outcome": outcome}


def _seconds(deadline_s: float | None, queries: pl.DataFrame) -> float | None:
    """The time of a whole batch."""
    return None if deadline_s is None else deadline_s * max(queries.height, 1)


@tag(stage="search", io="postgres", fail_open="yes")
@extract_fields({"vector_lists": pl.DataFrame, "vector_outcome": pl.DataFrame})
def vector_search(
    store: database.Store,
    collection: database.CollectionInfo,
    corpus: str,
    scoped_queries: pl.DataFrame,
    query_embeddings: pl.DataFrame,
    filters: dict[str, Any],
    deadline_s: float | None,
    search_depth: int = 50,
    exact_scan_max_rows: int = EXACT_SCAN_MAX_ROWS,
    ef_search: int | None = None,
) -> dict[str, pl.DataFrame]:
    """The nearest chunks to each query text, one list a text."""

    def find(asked: pl.DataFrame) -> pl.DataFrame:
        return vectors.vector_search(
            store,
            corpus,
            asked,
            query_embeddings,
            k=search_depth,
            exact_scan_max_rows=exact_scan_max_rows,
            ef_search=ef_search,
            timeout_s=_seconds(deadline_s, asked),
        )

    return _searched("vector", corpus, collection, scoped_queries, filters, find)


@config.when(text_search_variant="bm25")
@tag(stage="search", io="postgres", fail_open="yes")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__bm25(
    store: database.Store,
    collection: database.CollectionInfo,
    corpus: str,
    scoped_queries: pl.DataFrame,
    filters: dict[str, Any],
    deadline_s: float | None,
    search_depth: int = 50,
    candidate_cap: int = words.CANDIDATE_CAP,
) -> dict[str, pl.DataFrame]:
    """The chunks with the highest BM25 score for each query text, one list a text."""

    def find(asked: pl.DataFrame) -> pl.DataFrame:
        return words.bm25_search(
            store,
            corpus,
            asked,
            k=search_depth,
            candidate_cap=candidate_cap,
            timeout_s=_seconds(deadline_s, asked),
        )

    return _searched("text", corpus, collection, scoped_queries, filters, find)


@config.when(text_search_variant="plain")
@tag(stage="search", io="postgres", fail_open="yes")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__plain(
    store: database.Store,
    collection: database.CollectionInfo,
    corpus: str,
    scoped_queries: pl.DataFrame,
    filters: dict[str, Any],
    deadline_s: float | None,
    search_depth: int = 50,
) -> dict[str, pl.DataFrame]:
    """The chunks that have all words of a query text, by Postgres's own rank."""

    def find(asked: pl.DataFrame) -> pl.DataFrame:
        return words.plain_search(
            store, corpus, asked, k=search_depth, timeout_s=_seconds(deadline_s, asked)
        )

    return _searched("text", corpus, collection, scoped_queries, filters, find)


@config.when(text_search_variant="pg_textsearch")
@tag(stage="search", io="postgres", fail_open="yes")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__pg_textsearch(
    store: database.Store,
    collection: database.CollectionInfo,
    corpus: str,
    scoped_queries: pl.DataFrame,
    filters: dict[str, Any],
    deadline_s: float | None,
    search_depth: int = 50,
) -> dict[str, pl.DataFrame]:
    """The chunks with the highest score of the extension pg_textsearch."""

    def find(asked: pl.DataFrame) -> pl.DataFrame:
        return words.pg_textsearch_search(
            store, corpus, asked, k=search_depth, timeout_s=_seconds(deadline_s, asked)
        )

    return _searched("text", corpus, collection, scoped_queries, filters, find)


@tag(stage="search")
def vector_hits(vector_lists: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """The vector list of each query: of its one text, or of several fused."""
    return fuse_texts(vector_lists, "distance", rrf_k=rrf_k)


@tag(stage="search")
def text_hits(text_lists: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """The text list of each query: of its one text, or of several fused."""
    return fuse_texts(text_lists, "score", rrf_k=rrf_k)


@config.when(merged_variant="rrf")
@tag(stage="merge")
def merged__rrf(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, rrf_k: float = 60.0
) -> pl.DataFrame:
    """Both lists as one, by reciprocal rank fusion."""
    return merge.rrf(vector_hits, text_hits, rrf_k=rrf_k)


@config.when(merged_variant="weighted_rrf")
@tag(stage="merge")
def merged__weighted_rrf(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    rrf_k: float = 60.0,
    vector_weight: float = 0.5,
) -> pl.DataFrame:
    """Both lists as one, by reciprocal rank fusion with a weight for each list."""
    return merge.weighted_rrf(vector_hits, text_hits, rrf_k=rrf_k, vector_weight=vector_weight)


@config.when(merged_variant="convex")
@tag(stage="merge")
def merged__convex(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    lexical_weight: pl.DataFrame,
    vector_weight: float = 0.5,
    vector_norm: str = "min_max",
    text_norm: str = "min_max",
) -> pl.DataFrame:
    """Both lists as one, by a convex combination of their normalised scores."""
    return merge.convex(
        vector_hits,
        text_hits,
        lexical_weight,
        vector_weight=vector_weight,
        vector_norm=vector_norm,
        text_norm=text_norm,
    )


@config.when(merged_variant="vector_only")
@tag(stage="merge")
def merged__vector_only(vector_hits: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """The vector list alone; the text search does not run."""
    return merge.vector_only(vector_hits, rrf_k=rrf_k)


@config.when(merged_variant="text_only")
@tag(stage="merge")
def merged__text_only(text_hits: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """The text list alone; the vector search does not run."""
    return merge.text_only(text_hits, rrf_k=rrf_k)


@tag(stage="chunks")
def chunk_ids(merged: pl.DataFrame) -> pl.Series:
    """Every chunk of the merged lists, once, whatever its place."""
    return pl.Series("chunk_id", np.unique(merged["chunk_id"].to_numpy()), dtype=pl.Int64)


@tag(stage="chunks", io="postgres", fail_open="yes")
@extract_fields({"chunks": pl.DataFrame, "chunks_outcome": pl.DataFrame})
def read_chunks(
    store: database.Store,
    corpus: str,
    scoped_queries: pl.DataFrame,
    chunk_ids: pl.Series,
    filters: dict[str, Any],
    deadline_s: float | None,
) -> dict[str, pl.DataFrame]:
    """The chunks of the merged lists; an outcome only if that goes wrong."""
    asked = narrowed(scoped_queries, corpus, filters)
    chunks = frames.empty(frames.READ_CHUNKS)
    if len(chunk_ids):
        seconds = _seconds(deadline_s, asked)
        chunks = chunk_reader.fetch_chunks(store, corpus, chunk_ids, asked, timeout_s=seconds)
    return {"chunks": chunks, "chunks_outcome": frames.empty(frames.OUTCOMES)}


@tag(stage="dedup")
def token_index(chunks: pl.DataFrame) -> TokenIndex:
    """The token set of each chunk, compared within the corpus and across."""
    return index_tokens(chunks)


@tag(stage="dedup")
def similarity_index(chunks: pl.DataFrame) -> SimilarityIndex:
    """What tells most chunks apart at a glance, within the corpus and across."""
    return index_similarity(chunks)


@config.when(deduped_variant="jaccard")
@tag(stage="dedup")
def deduped__jaccard(
    merged: pl.DataFrame,
    chunks: pl.DataFrame,
    token_index: TokenIndex,
    jaccard_threshold: float = 0.9,
) -> pl.DataFrame:
    """The merged list without copies, by tokens."""
    return within.jaccard(merged, chunks, token_index, threshold=jaccard_threshold)


@config.when(deduped_variant="cosine")
@tag(stage="dedup")
def deduped__cosine(
    merged: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The merged list without copies in other documents, by embeddings."""
    return within.cosine(merged, chunks, threshold=cosine_threshold)


@config.when(deduped_variant="guarded")
@tag(stage="dedup")
def deduped__guarded(
    merged: pl.DataFrame,
    chunks: pl.DataFrame,
    similarity_index: SimilarityIndex,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
) -> pl.DataFrame:
    """The merged list without copies that say the same, to the number and the negation."""
    return within.guarded(
        merged,
        chunks,
        similarity_index,
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
    )


@config.when(deduped_variant="newest")
@tag(stage="dedup")
def deduped__newest(
    merged: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The merged list without near-copies in other documents of a later date."""
    return within.newest(merged, chunks, threshold=cosine_threshold)


@config.when(deduped_variant="off")
@tag(stage="dedup")
def deduped__off(merged: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """The merged list as it is."""
    return within.off(merged, chunks)


@tag(stage="unify")
def unified(
    deduped: pl.DataFrame, chunks: pl.DataFrame, corpus: str, label: str, link: str
) -> pl.DataFrame:
    """The corpus's answer in the form that all corpora share, with labels and links."""
    return unify(deduped, chunks, corpus=corpus, label=label, link=link)


def _channels(merged_variant: str) -> Any:
    """The outcomes of the searches that the merge needs: no other runs for its outcome."""
    alone = {"vector_only": ["vector"], "text_only": ["text"]}
    channels = [*alone.get(merged_variant, ["vector", "text"]), "chunks"]
    return inject(channel_outcomes=group(**{name: source(f"{name}_outcome") for name in channels}))


@tag(stage="outcomes")
@resolve_from_config(decorate_with=_channels)
def search_outcomes(channel_outcomes: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """What happened to the corpus's searches."""
    return frames.stacked(channel_outcomes.values())


@config.when_in(merged_variant=["rrf", "vector_only", "text_only"])
@tag(stage="explanation")
def merge_components__rrf(merged: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """What each merged score is made of; computed only for ``explain``."""
    return components.merge_by_rank(merged, rrf_k=rrf_k)


@config.when(merged_variant="weighted_rrf")
@tag(stage="explanation")
def merge_components__weighted_rrf(
    merged: pl.DataFrame, rrf_k: float = 60.0, vector_weight: float = 0.5
) -> pl.DataFrame:
    """What each merged score is made of; computed only for ``explain``."""
    return components.merge_by_rank(merged, rrf_k=rrf_k, vector_weight=vector_weight)


@config.when(merged_variant="convex")
@tag(stage="explanation")
def merge_components__convex(
    merged: pl.DataFrame,
    lexical_weight: pl.DataFrame,
    vector_weight: float = 0.5,
    vector_norm: str = "min_max",
    text_norm: str = "min_max",
) -> pl.DataFrame:
    """What each merged score is made of; computed only for ``explain``."""
    return components.merge_by_score(
        merged,
        lexical_weight,
        vector_weight=vector_weight,
        vector_norm=vector_norm,
        text_norm=text_norm,
    )


@tag(stage="outcomes")
def stage_counts(merged: pl.DataFrame, deduped: pl.DataFrame) -> dict[str, int]:
    """How many rows each stage of the corpus had."""
    return {
        "vector": merged.height - merged["vector_rank"].null_count(),
        "text": merged.height - merged["text_rank"].null_count(),
        "merged": merged.height,
        "deduped": deduped.height,
    }
