"""The searches of one corpus: by meaning, by words, and of the files that hits link to.

The graph has these nodes once for each configured corpus, under the corpus's name, because each is
I/O with a deadline of its own. If a node tagged ``fail_open`` fails, the other corpora still
answer. From here on, every node runs once over all corpora.
"""

from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.frames import LINKED_LISTS, TEXT_LISTS, VECTOR_LISTS, empty
from operators.postgres.search.linked_search import linked_search as files_of_links
from operators.postgres.search.text_search import CANDIDATE_CAP, bm25_search, plain_search
from operators.postgres.search.timed_search import Searched, SearchRequest, timed_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import CollectionInfo, Home, collection_info
from operators.ranking.query_filters import narrowed


@tag(stage="search", io="postgres", fail_open="none")
def collection(homes: dict[str, Home], corpus: str) -> CollectionInfo | None:
    """The collection's contents; None if it can't be read (the search outcomes give the error)."""
    return collection_info(homes[corpus].store)


@tag(stage="search")
def search_request(
    scoped_queries: pl.DataFrame,
    homes: dict[str, Home],
    collection: CollectionInfo | None,
    corpus: str,
    filters: dict[str, Any],
    deadline_s: float | None,
) -> SearchRequest:
    """The queries for this corpus, restricted to what the configuration makes visible."""
    home, queries = homes[corpus], narrowed(scoped_queries, corpus, filters)
    present = [home.corpus] if collection is None else collection.corpora
    timeout_s = None if deadline_s is None else deadline_s * max(queries.height, 1)
    return SearchRequest(home, corpus, queries, present, timeout_s)


@tag(stage="search")
def corpus_row(
    corpus: str,
    label: str,
    link: str,
    collection: CollectionInfo | None,
    homes: dict[str, Home],
    other_embedders: dict[str, Any],
    search_depth: int = 50,
    vector_weight: float = 0.5,
) -> dict[str, Any]:
    """What later stages need to know of the corpus: its row of ``CORPORA``."""
    space = homes[corpus].store.space
    return {
        **{"corpus": corpus, "label": label, "link": link},
        "many_repos": collection is not None and collection.many_repos,
        "space": space if space in other_embedders else None,
        **{"search_depth": search_depth, "vector_weight": vector_weight},
    }


@tag(stage="search", io="postgres", fail_open="empty", frame="VECTOR_LISTS")
@config.when_not(merged_variant="text_only")
def vector_search(
    search_request: SearchRequest,
    query_embeddings: pl.DataFrame,
    other_embeddings: dict[str, pl.DataFrame],
    search_depth: int = 50,
    exact_scan_max_rows: int | None = None,
    ef_search: int | None = None,
) -> Searched:
    """The nearest chunks to each query text, one ranked list per text."""
    vectors = other_embeddings.get(search_request.home.store.space or "", query_embeddings)
    how = {"exact_scan_max_rows": exact_scan_max_rows, "ef_search": ef_search}
    return timed_search("vector", search_vectors, search_request, vectors, k=search_depth, **how)


@tag(stage="search", frame="VECTOR_LISTS")
@config.when(merged_variant="text_only")
def vector_search__unused() -> Searched:
    """No list: the merge reads the keyword list only."""
    return Searched(empty(VECTOR_LISTS))


@tag(stage="search", io="postgres", fail_open="empty", frame="TEXT_LISTS")
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="bm25")
def text_search__bm25(
    search_request: SearchRequest, search_depth: int = 50, candidate_cap: int = CANDIDATE_CAP
) -> Searched:
    """The chunks with the highest BM25 score for each query text, one ranked list per text."""
    return timed_search(
        "text", bm25_search, search_request, k=search_depth, candidate_cap=candidate_cap
    )


@tag(stage="search", io="postgres", fail_open="empty", frame="TEXT_LISTS")
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="plain")
def text_search__plain(search_request: SearchRequest, search_depth: int = 50) -> Searched:
    """The chunks that contain all words of a query text, ranked by Postgres (full-text search)."""
    return timed_search("text", plain_search, search_request, k=search_depth)


@tag(stage="search", frame="TEXT_LISTS")
@config.when(merged_variant="vector_only")
def text_search__unused() -> Searched:
    """No list: the merge reads the vector list only."""
    return Searched(empty(TEXT_LISTS))


@tag(stage="search", io="postgres", fail_open="empty", frame="LINKED_LISTS")
@config.when_not_in(merged_variant=["text_only", "vector_only"])
def linked_search(
    search_request: SearchRequest,
    query_embeddings: pl.DataFrame,
    other_embeddings: dict[str, pl.DataFrame],
    link_sources: pl.DataFrame,
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    homes: dict[str, Home],
    linked_files: int = 0,
) -> Searched:
    """The nearest chunks in ``linked_files`` files that neither search found, but hits link to."""
    vectors = other_embeddings.get(search_request.home.store.space or "", query_embeddings)
    found = (vector_hits, text_hits)
    return Searched(
        files_of_links(search_request, vectors, link_sources, found, homes, files=linked_files)
    )


@tag(stage="search", frame="LINKED_LISTS")
@config.when_in(merged_variant=["text_only", "vector_only"])
def linked_search__unused() -> Searched:
    """No hit: the merge reads one list only."""
    return Searched(empty(LINKED_LISTS))
