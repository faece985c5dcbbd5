"""The searches of one corpus: by meaning and by words.

The graph has these nodes once for each configured corpus, under the corpus's name, because each is
I/O with a deadline of its own. If a node tagged ``fail_open`` fails, the other corpora still
answer. From here on, every node runs once over all corpora.
"""

from typing import Any

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.frames import TEXT_LISTS, VECTOR_LISTS, empty
from operators.postgres.search.text_search import bm25_search, plain_search
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
    corpora: dict[str, Any],
    corpus_settings: pl.DataFrame,
) -> SearchRequest:
    """The queries for this corpus, restricted to what the configuration makes visible."""
    home, options = homes[corpus], corpora[corpus]["inputs"]
    queries = narrowed(scoped_queries, corpus, options["filters"])
    present = [home.corpus] if collection is None else collection.corpora
    seconds, batch = options["deadline_s"], max(queries.height, 1)
    timeout_s = None if seconds is None else seconds * batch
    own = corpus_settings.filter(corpus=corpus)["search_depth", "linked_files"].row(0)
    return SearchRequest(home, corpus, queries, present, timeout_s, *own)


@tag(stage="search", io="postgres", fail_open="empty", frame="VECTOR_LISTS")
@config.when_not(merged_variant="text_only")
def vector_search(
    search_request: SearchRequest,
    query_embeddings: pl.DataFrame,
    other_embeddings: dict[str, pl.DataFrame],
) -> Searched:
    """The nearest chunks to each query text, one ranked list per text."""
    vectors = other_embeddings.get(search_request.home.store.space or "", query_embeddings)
    return timed_search("vector", search_vectors, search_request, vectors)


@tag(stage="search", frame="VECTOR_LISTS")
@config.when(merged_variant="text_only")
def vector_search__unused() -> Searched:
    """No list: the merge reads the keyword list only."""
    return Searched(empty(VECTOR_LISTS))


@tag(stage="search", io="postgres", fail_open="empty", frame="TEXT_LISTS")
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="bm25")
def text_search__bm25(search_request: SearchRequest) -> Searched:
    """The chunks with the highest BM25 score for each query text, one ranked list per text."""
    return timed_search("text", bm25_search, search_request)


@tag(stage="search", io="postgres", fail_open="empty", frame="TEXT_LISTS")
@config.when_not(merged_variant="vector_only")
@config.when(text_search_variant="plain")
def text_search__plain(search_request: SearchRequest) -> Searched:
    """The chunks that contain all words of a query text, ranked by Postgres (full-text search)."""
    return timed_search("text", plain_search, search_request)


@tag(stage="search", frame="TEXT_LISTS")
@config.when(merged_variant="vector_only")
def text_search__unused() -> Searched:
    """No list: the merge reads the vector list only."""
    return Searched(empty(TEXT_LISTS))
