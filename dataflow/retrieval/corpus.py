"""The searches of one corpus: by meaning and by words.

The graph has these nodes once for each configured corpus, under the corpus's name, because each is
I/O with a deadline of its own. If a node tagged ``fail_open`` fails, the other corpora still
answer. From here on, every node runs once over all corpora.
"""

import polars as pl
from hamilton.function_modifiers import config, tag

from operators.frames import TEXT_LISTS, VECTOR_LISTS, empty
from operators.postgres.search.text_search import bm25_search, plain_search
from operators.postgres.search.timed_search import Searched, SearchRequest, timed_search
from operators.postgres.search.vector_search import search_vectors


@tag(stage="search")
def search_request(search_requests: dict[str, SearchRequest], corpus: str) -> SearchRequest:
    """What is searched in this corpus, how deep, and how long."""
    return search_requests[corpus]


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
