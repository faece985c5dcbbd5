"""All corpora in one long frame: hits, their chunks, one score a hit, no near-duplicates.

The key of a hit is query, corpus and chunk. Every node runs once: what belongs to one corpus is
worked out over ``query_id`` and ``corpus``, what is common to all over ``query_id``. ``normalized``
puts both lists on a scale, ``merged`` makes one score of them.
"""

from typing import Any

import polars as pl
from hamilton.function_modifiers import config, extract_fields, tag

from dataflow.retrieval.branches import from_each_corpus, one_branch_each
from operators.context.search_outcomes import collect, silent_corpora, unreached
from operators.context.unified_form import unify
from operators.dedup import within
from operators.dedup.similarity_index import SimilarityIndex, index_similarity
from operators.frames import CORPORA, LINKED_HITS, OUTCOMES, empty
from operators.postgres.search.chunk_reader import chunks_of_hits, without_vector
from operators.postgres.search.linked_search import linked_search as files_of_links
from operators.postgres.search.timed_search import Searched, SearchRequest, lists_of, outcomes_of
from operators.postgres.store import CollectionInfo, Home, contents
from operators.ranking import merge, normalization
from operators.ranking import score_scale as scale
from operators.ranking.lexical_weight import lexical_weights, match_weights
from operators.ranking.linked_files import best_found
from operators.ranking.multi_query import fuse_texts
from operators.ranking.query_filters import narrowed


@one_branch_each
def corpus_branch(search_request: SearchRequest) -> SearchRequest:
    """What is searched in one corpus, under the corpus's name."""
    return search_request


@tag(stage="search", frame="CORPORA")
def corpus_settings(
    corpora: dict[str, Any],
    homes: dict[str, Home],
    other_embedders: dict[str, Any],
    search_depth: int = 50,
    vector_weight: float = 0.5,
    linked_files: int = 0,
) -> pl.DataFrame:
    """What differs between the corpora: labels, links, and numbers, of all or of a corpus's own."""
    of_all = {"search_depth": search_depth, "vector_weight": vector_weight}
    of_all |= {"linked_files": linked_files}
    rows = [{**of_all, **options["inputs"]} for options in corpora.values()]
    spaces = [homes[corpus].store.space for corpus in corpora]
    others = [space if space in other_embedders else None for space in spaces]
    given = {name: [row[name] for row in rows] for name in CORPORA if name != "space"}
    return pl.DataFrame({**given, "space": others}, CORPORA)


@tag(stage="search")
def search_requests(
    scoped_queries: pl.DataFrame,
    homes: dict[str, Home],
    corpora: dict[str, Any],
    corpus_settings: pl.DataFrame,
) -> dict[str, SearchRequest]:
    """The queries for each corpus, restricted to what the configuration makes visible."""
    requests = {}
    for corpus, *numbers in corpus_settings["corpus", "search_depth", "linked_files"].iter_rows():
        options = corpora[corpus]["inputs"]
        queries = narrowed(scoped_queries, corpus, options["filters"])
        seconds, batch = options["deadline_s"], max(queries.height, 1)
        timeout_s = None if seconds is None else seconds * batch
        requests[corpus] = SearchRequest(homes[corpus], corpus, queries, timeout_s, *numbers)
    return requests


@tag(stage="search")
@from_each_corpus(searched="vector_search")
def vector_searches(searched: dict[str, Searched]) -> dict[str, Searched]:
    """The vector search of each corpus."""
    return searched


@tag(stage="search")
@from_each_corpus(searched="text_search")
def text_searches(searched: dict[str, Searched]) -> dict[str, Searched]:
    """The keyword search of each corpus."""
    return searched


@tag(stage="search", frame="VECTOR_HITS")
def vector_hits(
    vector_searches: dict[str, Searched],
    corpus_settings: pl.DataFrame,
    missing_score_fraction: float = 0.0,
) -> pl.DataFrame:
    """The vector lists of all corpora: of several texts of a query, fused into one."""
    lists, depths = lists_of(vector_searches), _depths(corpus_settings)
    return fuse_texts(lists, "distance", depths, missing_score_fraction=missing_score_fraction)


@tag(stage="search", frame="TEXT_HITS")
def text_hits(
    text_searches: dict[str, Searched],
    corpus_settings: pl.DataFrame,
    missing_score_fraction: float = 0.0,
) -> pl.DataFrame:
    """The keyword lists of all corpora: of several texts of a query, fused into one."""
    lists, depths = lists_of(text_searches), _depths(corpus_settings)
    return fuse_texts(lists, "score", depths, missing_score_fraction=missing_score_fraction)


@tag(stage="search", frame="LINK_SOURCES")
def link_sources(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, most_linked: int = 30
) -> pl.DataFrame:
    """The best hits of each corpus; they may link to files of other corpora."""
    return best_found([vector_hits, text_hits], most=most_linked)


@tag(stage="search", io="postgres", fail_open="empty", frame=["LINKED_HITS", "OUTCOMES"])
@config.when_not_in(merged_variant=["text_only", "vector_only"])
@extract_fields({"linked_hits": pl.DataFrame, "linked_outcome": pl.DataFrame})
def linked_search(
    search_requests: dict[str, SearchRequest],
    query_embeddings: pl.DataFrame,
    other_embeddings: dict[str, pl.DataFrame],
    link_sources: pl.DataFrame,
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    homes: dict[str, Home],
    on_corpus_error: str,
) -> dict[str, pl.DataFrame]:
    """The nearest chunks of files that no search found, but hits link to: where it is on."""
    hits, failed = files_of_links(
        search_requests,
        {**other_embeddings, "": query_embeddings},
        link_sources,
        [vector_hits, text_hits],
        homes,
        skip_failures=on_corpus_error == "skip",
    )
    return {"linked_hits": hits, "linked_outcome": failed}


@tag(stage="search", frame=["LINKED_HITS", "OUTCOMES"])
@config.when_in(merged_variant=["text_only", "vector_only"])
@extract_fields({"linked_hits": pl.DataFrame, "linked_outcome": pl.DataFrame})
def linked_search__unused() -> dict[str, pl.DataFrame]:
    """No hit: the merge reads one list only."""
    return {"linked_hits": empty(LINKED_HITS), "linked_outcome": empty(OUTCOMES)}


@tag(stage="search", io="postgres", fail_open="empty", frame=["READ_CHUNKS", "OUTCOMES"])
@extract_fields({"chunks": pl.DataFrame, "chunks_outcome": pl.DataFrame})
def read_chunks(
    search_requests: dict[str, SearchRequest],
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    linked_hits: pl.DataFrame,
    on_corpus_error: str,
) -> dict[str, pl.DataFrame]:
    """The chunks of all hits, one statement a collection; an outcome only if reading fails."""
    hits = [vector_hits, text_hits, linked_hits]
    chunks, failed = chunks_of_hits(search_requests, hits, skip_failures=on_corpus_error == "skip")
    return {"chunks": chunks, "chunks_outcome": failed}


@tag(stage="search", frame="OUTCOMES")
def outcomes(
    vector_searches: dict[str, Searched],
    text_searches: dict[str, Searched],
    linked_outcome: pl.DataFrame,
    chunks_outcome: pl.DataFrame,
) -> pl.DataFrame:
    """The outcome of each search; an error if all failed."""
    searches = outcomes_of(vector_searches, text_searches)
    return collect([*searches, linked_outcome, chunks_outcome])


@tag(stage="search", io="postgres", fail_open="none")
def collections(homes: dict[str, Home], outcomes: pl.DataFrame) -> dict[str, CollectionInfo | None]:
    """The contents of the collection of each corpus; None if it can't be read."""
    return contents(homes, unreached(outcomes))


@tag(stage="score", frame="SCORE_SCALE")
def score_scale(
    vector_hits: pl.DataFrame, text_hits: pl.DataFrame, corpus_settings: pl.DataFrame
) -> pl.DataFrame:
    """The best scores of each query in each corpus and in all; they define the common scale."""
    spaces = dict(corpus_settings["corpus", "space"].iter_rows())
    return scale.score_scale(vector_hits, text_hits, spaces)


@tag(stage="score", frame="LEXICAL_WEIGHT")
def lexical_weight(
    intent: pl.DataFrame,
    score_scale: pl.DataFrame,
    full_weight_terms: int = 8,
    lexical_margin: float = 0.27,
) -> pl.DataFrame:
    """The weight of keyword search against vector search, by each query's wording and matches."""
    by_wording = lexical_weights(intent, full_weight_terms=full_weight_terms)
    return match_weights(by_wording, score_scale, margin=lexical_margin)


@tag(stage="score", frame="NORMALIZED")
@config.when(normalized_variant="common_scale")
def normalized__common_scale(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    linked_hits: pl.DataFrame,
    chunks: pl.DataFrame,
    outcomes: pl.DataFrame,
    score_scale: pl.DataFrame,
    corpus_settings: pl.DataFrame,
    missing_score_fraction: float = 0.0,
) -> pl.DataFrame:
    """Both lists side by side, with scores on a scale that all corpora share."""
    scaled = normalization.common_scale(
        normalization.side_by_side(vector_hits, text_hits, linked_hits),
        score_scale,
        depths=_depths(corpus_settings),
        missing_score_fraction=missing_score_fraction,
        silent=silent_corpora(outcomes),
    )
    return normalization.near_as_its_words(scaled, without_vector(chunks))


@tag(stage="score", frame="NORMALIZED")
@config.when(normalized_variant="by_list")
def normalized__by_list(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    linked_hits: pl.DataFrame,
    outcomes: pl.DataFrame,
    vector_norm: str = "max",
    text_norm: str = "max",
) -> pl.DataFrame:
    """Both lists side by side, each normalized by itself: min_max, max or raw."""
    return normalization.by_list(
        normalization.side_by_side(vector_hits, text_hits, linked_hits),
        vector_norm=vector_norm,
        text_norm=text_norm,
        silent=silent_corpora(outcomes),
    )


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="rrf")
def merged__rrf(normalized: pl.DataFrame, rrf_k: float = 60.0) -> pl.DataFrame:
    """One score per hit, by reciprocal rank fusion of both lists."""
    return merge.rrf(normalized, rrf_k=rrf_k)


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="weighted_rrf")
def merged__weighted_rrf(
    normalized: pl.DataFrame, corpus_settings: pl.DataFrame, rrf_k: float = 60.0
) -> pl.DataFrame:
    """One score per hit, by reciprocal rank fusion with a weight for each list."""
    return merge.weighted_rrf(normalized, _vector_weights(corpus_settings), rrf_k=rrf_k)


@tag(stage="score", frame="MERGED")
@config.when(merged_variant="convex")
def merged__convex(
    normalized: pl.DataFrame, lexical_weight: pl.DataFrame, corpus_settings: pl.DataFrame
) -> pl.DataFrame:
    """One score per hit, by a convex combination of its scores in both lists."""
    return merge.convex(normalized, lexical_weight, _vector_weights(corpus_settings))


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
def similarity_index(chunks: pl.DataFrame) -> SimilarityIndex:
    """Texts, vectors and token sets of the chunks, for comparisons within and across corpora."""
    return index_similarity(chunks)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="jaccard")
def deduped__jaccard(
    merged: pl.DataFrame,
    chunks: pl.DataFrame,
    similarity_index: SimilarityIndex,
    jaccard_threshold: float = 0.9,
) -> pl.DataFrame:
    """The merged lists without near-duplicates in a corpus, by token overlap (Jaccard)."""
    return within.jaccard(merged, chunks, similarity_index, threshold=jaccard_threshold)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="cosine")
def deduped__cosine(
    merged: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The merged lists without near-duplicates in other documents of a corpus, by cosine."""
    return within.cosine(merged, chunks, threshold=cosine_threshold)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="guarded")
def deduped__guarded(
    merged: pl.DataFrame,
    chunks: pl.DataFrame,
    similarity_index: SimilarityIndex,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
) -> pl.DataFrame:
    """The merged lists without near-duplicates that have the same numbers and negations."""
    return within.guarded(
        merged,
        chunks,
        similarity_index,
        jaccard_threshold=jaccard_threshold,
        cosine_threshold=cosine_threshold,
    )


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="newest")
def deduped__newest(
    merged: pl.DataFrame, chunks: pl.DataFrame, cosine_threshold: float = 0.95
) -> pl.DataFrame:
    """The merged lists without near-duplicates of documents with a later date."""
    return within.newest(merged, chunks, threshold=cosine_threshold)


@tag(stage="score", frame="DEDUPED")
@config.when(deduped_variant="off")
def deduped__off(merged: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """The merged lists unchanged."""
    return within.off(merged, chunks)


@tag(stage="score", frame="UNIFIED")
def unified(deduped: pl.DataFrame, chunks: pl.DataFrame) -> pl.DataFrame:
    """The hits of all corpora with their texts, in one form."""
    return unify(deduped, chunks)


def _depths(corpus_settings: pl.DataFrame) -> dict[str, int]:
    """The length at which each corpus's lists are cut."""
    return dict(corpus_settings["corpus", "search_depth"].iter_rows())


def _vector_weights(corpus_settings: pl.DataFrame) -> dict[str, float]:
    """The weight of each corpus's vector list."""
    return dict(corpus_settings["corpus", "vector_weight"].iter_rows())
