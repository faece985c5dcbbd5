"""One corpus: vector and keyword search, scores, near-duplicate removal, one common form.

A hit gets its score here, once: ``normalized`` puts both lists on a scale, ``merged`` makes one
score of them. ``score_scale`` and ``lexical_weight`` come from the lists of all corpora.

The graph has these nodes once for each configured corpus, under the corpus's name. If a node
tagged ``fail_open`` fails, the other corpora still answer.
"""

from typing import Any, TypeAlias

import polars as pl
from hamilton.function_modifiers import config, extract_fields, tag

from operators.context.search_outcomes import answered_channels
from operators.context.unified_form import unify
from operators.dedup import within
from operators.dedup.similarity_index import SimilarityIndex, index_similarity
from operators.dedup.token_index import TokenIndex, index_tokens
from operators.frames import (
    LINKED_HITS,
    OUTCOMES,
    READ_CHUNKS,
    TEXT_LISTS,
    VECTOR_LISTS,
    empty,
    stacked,
)
from operators.postgres.search.chunk_reader import fetch_chunks, without_vector
from operators.postgres.search.linked_search import linked_search as files_of_links
from operators.postgres.search.text_search import (
    CANDIDATE_CAP,
    bm25_search,
    pg_textsearch_search,
    plain_search,
)
from operators.postgres.search.timed_search import Asked, timed_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import CollectionInfo, Home, collection_info
from operators.ranking import merge, normalization, score_scale
from operators.ranking.linked_files import best_found as best_of_lists
from operators.ranking.multi_query import fuse_texts
from operators.ranking.query_filters import narrowed

Frames: TypeAlias = dict[str, pl.DataFrame]


@tag(stage="search", io="postgres", fail_open="none")
def collection(homes: dict[str, Home], corpus: str) -> CollectionInfo | None:
    """The collection's contents; None if it can't be read (the search outcomes give the error)."""
    return collection_info(homes[corpus].store)


@tag(stage="search")
def asked(
    scoped_queries: pl.DataFrame,
    homes: dict[str, Home],
    collection: CollectionInfo | None,
    corpus: str,
    filters: dict[str, Any],
    deadline_s: float | None,
) -> Asked:
    """The queries for this corpus, restricted to what the configuration makes visible."""
    home, queries = homes[corpus], narrowed(scoped_queries, corpus, filters)
    present = [home.corpus] if collection is None else collection.corpora
    timeout_s = None if deadline_s is None else deadline_s * max(queries.height, 1)
    return Asked(home, corpus, queries, present, timeout_s)


@tag(stage="search", io="postgres", fail_open="empty", frame=["VECTOR_LISTS", "OUTCOMES"])
@config.when_not(merged_variant="text_only")
@extract_fields({"vector_lists": pl.DataFrame, "vector_outcome": pl.DataFrame})
def vector_search(
    asked: Asked,
    query_embeddings: pl.DataFrame,
    other_embeddings: dict[str, pl.DataFrame],
    search_depth: int = 50,
    exact_scan_max_rows: int | None = None,
    ef_search: int | None = None,
) -> Frames:
    """The nearest chunks to each query text, one ranked list per text."""
    vectors = other_embeddings.get(asked.home.store.space or "", query_embeddings)
    how = {"exact_scan_max_rows": exact_scan_max_rows, "ef_search": ef_search}
    return timed_search("vector", search_vectors, asked, vectors, k=search_depth, **how)


@tag(stage="search", frame=["VECTOR_LISTS", "OUTCOMES"])
@config.when(merged_variant="text_only")
@extract_fields({"vector_lists": pl.DataFrame, "vector_outcome": pl.DataFrame})
def vector_search__unused() -> Frames:
    """No list: the merge reads the keyword list only."""
    return {"vector_lists": empty(VECTOR_LISTS), "vector_outcome": empty(OUTCOMES)}


@tag(stage="search", io="postgres", fail_open="empty", frame=["TEXT_LISTS", "OUTCOMES"])
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="bm25")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__bm25(
    asked: Asked, search_depth: int = 50, candidate_cap: int = CANDIDATE_CAP
) -> Frames:
    """The chunks with the highest BM25 score for each query text, one ranked list per text."""
    return timed_search("text", bm25_search, asked, k=search_depth, candidate_cap=candidate_cap)


@tag(stage="search", io="postgres", fail_open="empty", frame=["TEXT_LISTS", "OUTCOMES"])
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="plain")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__plain(asked: Asked, search_depth: int = 50) -> Frames:
    """The chunks that contain all words of a query text, ranked by Postgres (full-text search)."""
    return timed_search("text", plain_search, asked, k=search_depth)


@tag(stage="search", io="postgres", fail_open="empty", frame=["TEXT_LISTS", "OUTCOMES"])
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="pg_textsearch")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__pg_textsearch(asked: Asked, search_depth: int = 50) -> Frames:
    """The chunks with the highest score from the extension pg_textsearch."""
    return timed_search("text", pg_textsearch_search, asked, k=search_depth)


@tag(stage="search", frame=["TEXT_LISTS", "OUTCOMES"])
@config.when(merged_variant="vector_only")
@extract_fields({"text_lists": pl.DataFrame, "text_outcome": pl.DataFrame})
def text_search__unused() -> Frames:
    """No list: the merge reads the vector list only."""
    return {"text_lists": empty(TEXT_LISTS), "text_outcome": empty(OUTCOMES)}


@tag(stage="search", frame="VECTOR_HITS")
def vector_hits(
    vector_lists: pl.DataFrame, search_depth: int = 50, missing_score_fraction: float = 0.0
) -> pl.DataFrame:
    """The vector list of each query: the lists of its texts, fused if there are several."""
    return fuse_texts(
        vector_lists, "distance", depth=search_depth, missing_score_fraction=missing_score_fraction
    )


@tag(stage="search", frame="TEXT_HITS")
def text_hits(
    text_lists: pl.DataFrame, search_depth: int = 50, missing_score_fraction: float = 0.0
) -> pl.DataFrame:
    """The keyword list of each query: the lists of its texts, fused if there are several."""
    return fuse_texts(
        text_lists, "score", depth=search_depth, missing_score_fraction=missing_score_fraction
    )


@tag(stage="search", frame="LINKING")
def best_found(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, corpus: str, most_linked: int = 30
) -> pl.DataFrame:
    """The best hits of both lists; they may link to files of other corpora."""
    return best_of_lists([vector_hits, text_hits], corpus=corpus, most=most_linked)


@tag(stage="search", io="postgres", fail_open="empty", frame=["LINKED_HITS", "OUTCOMES"])
@config.when_not_in(merged_variant=["text_only", "vector_only"])
@extract_fields({"linked_hits": pl.DataFrame, "linked_outcome": pl.DataFrame})
def linked_search(
    asked: Asked,
    query_embeddings: pl.DataFrame,
    other_embeddings: dict[str, pl.DataFrame],
    linking: pl.DataFrame,
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    homes: dict[str, Home],
    linked_files: int = 0,
) -> Frames:
    """The nearest chunks in ``linked_files`` files that neither search found, but hits link to."""
    vectors = other_embeddings.get(asked.home.store.space or "", query_embeddings)
    found = [vector_hits, text_hits]
    hits = files_of_links(asked, vectors, linking, found, homes, files=linked_files)
    return {"linked_hits": hits, "linked_outcome": empty(OUTCOMES)}


@tag(stage="search", frame=["LINKED_HITS", "OUTCOMES"])
@config.when_in(merged_variant=["text_only", "vector_only"])
@extract_fields({"linked_hits": pl.DataFrame, "linked_outcome": pl.DataFrame})
def linked_search__unused() -> Frames:
    """No hit: the merge reads one list only."""
    return {"linked_hits": empty(LINKED_HITS), "linked_outcome": empty(OUTCOMES)}


@tag(stage="search", io="postgres", fail_open="empty", frame=["READ_CHUNKS", "OUTCOMES"])
@extract_fields({"chunks": pl.DataFrame, "chunks_outcome": pl.DataFrame})
def read_chunks(
    asked: Asked, vector_hits: pl.DataFrame, text_hits: pl.DataFrame, linked_hits: pl.DataFrame
) -> Frames:
    """The chunks of all hits; an outcome only if reading fails."""
    store, held_as = asked.home
    ids = pl.concat(hits["chunk_id"] for hits in (vector_hits, text_hits, linked_hits))
    chunks = (
        fetch_chunks(store, held_as, ids, asked.queries, timeout_s=asked.timeout_s)
        if len(ids)
        else empty(READ_CHUNKS)
    )
    named = chunks.with_columns(corpus=pl.lit(asked.corpus))
    return {"chunks": named, "chunks_outcome": empty(OUTCOMES)}


@tag(stage="search", frame="OUTCOMES")
def search_outcomes(
    vector_outcome: pl.DataFrame,
    text_outcome: pl.DataFrame,
    linked_outcome: pl.DataFrame,
    chunks_outcome: pl.DataFrame,
) -> pl.DataFrame:
    """The outcome of each search of the corpus."""
    return stacked([vector_outcome, text_outcome, linked_outcome, chunks_outcome])


@tag(stage="score", frame="BEST_SCORES")
def best_scores(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    homes: dict[str, Home],
    corpus: str,
    other_embedders: dict[str, Any],
) -> pl.DataFrame:
    """The best scores of the corpus for each query."""
    held_in = homes[corpus].store.space
    space = held_in if held_in in other_embedders else None
    return score_scale.best_scores(vector_hits, text_hits, space=space)


@tag(stage="score", frame="NORMALIZED")
@config.when(normalized_variant="common_scale")
def normalized__common_scale(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    linked_hits: pl.DataFrame,
    chunks: pl.DataFrame,
    search_outcomes: pl.DataFrame,
    score_scale: pl.DataFrame,
    corpus: str,
    search_depth: int = 50,
    corpus_normalization: float = 0.5,
    missing_score_fraction: float = 0.0,
    word_similarity: float = 0.9,
) -> pl.DataFrame:
    """Both lists side by side, with scores on a scale that all corpora share."""
    scaled = normalization.common_scale(
        normalization.side_by_side(vector_hits, text_hits, linked_hits),
        score_scale.filter(corpus=corpus),
        depth=search_depth,
        corpus_normalization=corpus_normalization,
        missing_score_fraction=missing_score_fraction,
        channels=answered_channels(search_outcomes),
    )
    return normalization.near_as_its_words(
        scaled, without_vector(chunks), word_similarity=word_similarity
    )


@tag(stage="score", frame="NORMALIZED")
@config.when(normalized_variant="by_list")
def normalized__by_list(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    linked_hits: pl.DataFrame,
    search_outcomes: pl.DataFrame,
    vector_norm: str = "max",
    text_norm: str = "max",
) -> pl.DataFrame:
    """Both lists side by side, each normalized by itself: min_max, max, raw or three_sigma."""
    return normalization.by_list(
        normalization.side_by_side(vector_hits, text_hits, linked_hits),
        vector_norm=vector_norm,
        text_norm=text_norm,
        channels=answered_channels(search_outcomes),
    )


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="rrf")
def merged__rrf(normalized: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """One score per hit, by reciprocal rank fusion of both lists."""
    return merge.rrf(normalized, rrf_k=rrf_k)


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="weighted_rrf")
def merged__weighted_rrf(
    normalized: pl.DataFrame, rrf_k: float = 60.0, vector_weight: float = 0.5
) -> pl.DataFrame:
    """One score per hit, by reciprocal rank fusion with a weight for each list."""
    return merge.weighted_rrf(normalized, rrf_k=rrf_k, vector_weight=vector_weight)


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="convex")
def merged__convex(
    normalized: pl.DataFrame, lexical_weight: pl.DataFrame, vector_weight: float = 0.5
) -> pl.DataFrame:
    """One score per hit, by a convex combination of its scores in both lists."""
    return merge.convex(normalized, lexical_weight, vector_weight=vector_weight)


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="vector_only")
def merged__vector_only(normalized: pl.DataFrame) -> pl.DataFrame:
    """The vector list only; the keyword search does not run."""
    return merge.vector_only(normalized)


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="text_only")
def merged__text_only(normalized: pl.DataFrame) -> pl.DataFrame:
    """The keyword list only; the vector search does not run."""
    return merge.text_only(normalized)


@tag(stage="score")
def token_index(chunks: pl.DataFrame) -> TokenIndex:
    """The token set of each chunk, for comparisons within the corpus and across corpora."""
    return index_tokens(chunks)


@tag(stage="score")
def similarity_index(chunks: pl.DataFrame) -> SimilarityIndex:
    """Texts, vectors and token sets of the chunks, for comparisons within and across corpora."""
    return index_similarity(chunks)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="jaccard")
def deduped__jaccard(
    merged: pl.DataFrame, token_index: TokenIndex, jaccard_threshold: float = 0.9
) -> pl.DataFrame:
    """The merged list without near-duplicates, by token overlap (Jaccard)."""
    return within.jaccard(merged, token_index, threshold=jaccard_threshold)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="cosine")
def deduped__cosine(
    merged: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The merged list without near-duplicates in other documents, by cosine of the embeddings."""
    return within.cosine(merged, chunks, threshold=cosine_threshold)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="guarded")
def deduped__guarded(
    merged: pl.DataFrame,
    similarity_index: SimilarityIndex,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
) -> pl.DataFrame:
    """The merged list without near-duplicates that have the same numbers and negations."""
    return within.guarded(
        merged,
        similarity_index,
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
    )


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="newest")
def deduped__newest(
    merged: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The merged list without near-duplicates of documents with a later date."""
    return within.newest(merged, chunks, threshold=cosine_threshold)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="off")
def deduped__off(merged: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """The merged list unchanged."""
    return within.off(merged, chunks)


@tag(stage="score", frame="UNIFIED")
def unified(
    deduped: pl.DataFrame,
    chunks: pl.DataFrame,
    collection: CollectionInfo | None,
    corpus: str,
    label: str,
    link: str,
    full_length_words: int = 0,
) -> pl.DataFrame:
    """The corpus's ranked list in the form that all corpora share, with labels and links."""
    return unify(
        deduped,
        chunks,
        corpus=corpus,
        label=label,
        link=link,
        many_repos=collection is not None and collection.many_repos,
        full_length_words=full_length_words,
    )
