"""Searches the files that found commits and reviews are about, if no search found them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias, cast

import numpy as np
import polars as pl

from operators.context.search_outcomes import unsuccessful
from operators.frames import (
    CHANGED_PATHS,
    LINKED_HITS,
    OUTCOMES,
    QUERY_EMBEDDINGS,
    empty,
    stacked,
)
from operators.postgres.search.batches import Deadline, run, run_slices
from operators.postgres.search.filters import in_files
from operators.postgres.search.timed_search import SearchRequest
from operators.postgres.search.vector_search import on_scale, search_files
from operators.postgres.search.version_filters import SearchFilter, seen
from operators.postgres.search.visible_chunks import search_filters
from operators.postgres.store import Connection, Home, by_store, collection_info
from operators.ranking.linked_files import File, changed_paths, most_voted, votes_for_files

_LISTS = pl.Schema({name: of for name, of in LINKED_HITS.items() if name != "corpus"})
_Links: TypeAlias = dict[tuple[str, int], tuple[str, str, Sequence[str]]]
"""By corpus and chunk, its document, its repository, and the paths that it links to."""


def linked_search(
    requests: Mapping[str, SearchRequest],
    embeddings: Mapping[str, pl.DataFrame],
    link_sources: pl.DataFrame,
    hits: Sequence[pl.DataFrame],
    homes: Mapping[str, Home],
    *,
    skip_failures: bool,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The nearest passages of the files that hits of other corpora link to.

    A commit links to the files that it changed, a passage of a pull request to its path. The
    similarity is the mean over the query's texts.

    Args:
        requests: by corpus, its queries and ``linked_files``: the most files of a query, 0 for
            none; of each its nearest passage.
        embeddings: by vector space, ``QUERY_EMBEDDINGS``; ``""`` is the driver's own.
        link_sources: ``LINK_SOURCES``, the hits of all corpora that may link to files.
        hits: what the searches of all corpora found, with the columns query_id, corpus and
            chunk_id; no file enters that they have.
        homes: by corpus, its store, and its name there.
        skip_failures: one corpus that fails does not end the call.

    Returns:
        ``LINKED_HITS``, and ``OUTCOMES`` of the searches that failed.

    Raises:
        SearchTimeout: a request's ``timeout_s`` has passed.
    """
    found, failed = [empty(LINKED_HITS)], [empty(OUTCOMES)]
    for corpus, request in requests.items():
        if not request.linked_files or request.queries.is_empty():
            continue
        began = perf_counter()
        vectors = embeddings.get(request.home.store.space or "", embeddings[""])
        try:
            lists = _linked_files(request, vectors, link_sources, hits, homes)
        except Exception as error:
            if not skip_failures:
                raise
            elapsed_ms = (perf_counter() - began) * 1000
            failed.append(unsuccessful(corpus, "linked", error, elapsed_ms))
        else:
            found.append(lists.with_columns(corpus=pl.lit(corpus)).select(list(LINKED_HITS)))
    return stacked(found), stacked(failed)


def _linked_files(
    request: SearchRequest,
    query_embeddings: pl.DataFrame,
    link_sources: pl.DataFrame,
    hits: Sequence[pl.DataFrame],
    homes: Mapping[str, Home],
) -> pl.DataFrame:
    """The search in the files of one corpus: ``LINKED_HITS`` without the column ``corpus``."""
    store, corpus_there = request.home
    deadline = Deadline.after(
        request.timeout_s, f"the search of linked files of {request.corpus!r}"
    )
    link_sources = link_sources.filter(pl.col("corpus") != request.corpus)
    links = _read_links(link_sources, homes, deadline)
    voters: dict[int, dict[tuple[str, ...], tuple[float, str, Sequence[str]]]] = {}
    # a document's best chunk comes first
    for query, corpus, chunk, vote in link_sources.iter_rows():
        if (corpus, chunk) in links:
            document, repo, paths = links[corpus, chunk]
            documents = voters.setdefault(query, {})
            documents.setdefault((corpus, repo, document), (vote, repo, paths))
    info = collection_info(store)
    if not voters or corpus_there not in info.repos:
        return pl.DataFrame(schema=_LISTS)
    found: dict[int, set[int]] = defaultdict(set)
    for frame in hits:
        own = frame.filter(corpus=request.corpus)
        for query, chunk in own["query_id", "chunk_id"].iter_rows():
            found[query].add(chunk)
    scopes = search_filters(store, deadline, corpus_there, request.queries)
    votes = {
        query: votes_for_files(documents.values())
        for query, documents in voters.items()
        if query in scopes
    }
    items = [(query, scopes[query], list(of)) for query, of in votes.items()]
    visible: dict[int, dict[File, list[int]]] = defaultdict(dict)
    read = partial(_visible_files, corpus=corpus_there)
    for query, repo, path, chunks in run_slices(store, deadline, items, read):
        visible[query][repo, path] = chunks
    wanted = {
        q: most_voted(votes[q], found[q], of, most=request.linked_files)
        for q, of in visible.items()
    }
    means, lengths = _mean_texts(query_embeddings)
    lists = search_files(store, corpus_there, means, scopes, wanted, deadline=deadline)
    near = lists["query_id", "chunk_id", "distance"].iter_rows()
    rows = [(query, chunk, 1 - (1 - away) * lengths[query]) for query, chunk, away in near]
    return on_scale(pl.DataFrame(rows, schema=_LISTS, orient="row"), info)


def _mean_texts(query_embeddings: pl.DataFrame) -> tuple[pl.DataFrame, dict[int, float]]:
    """One vector a query, the mean of its texts' unit vectors, and its length.

    A passage's similarity to it times the length is the mean of its similarities to the texts.
    """
    rows, lengths = [], {}
    by_query = query_embeddings.group_by("query_id", maintain_order=True)
    for (query,), of in by_query:
        vectors = np.array(of["embedding"].to_list(), dtype=np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        mean = (vectors / np.where(norms > 0, norms, 1)).mean(axis=0)
        rows.append((query, 0, None, mean.tolist()))
        lengths[cast("int", query)] = float(np.linalg.norm(mean))
    return pl.DataFrame(rows, schema=QUERY_EMBEDDINGS, orient="row"), lengths


def _read_links(hits: pl.DataFrame, homes: Mapping[str, Home], deadline: Deadline) -> _Links:
    ids: dict[str, list[int]] = defaultdict(list)
    for corpus, chunk in hits["corpus", "chunk_id"].iter_rows():
        ids[corpus].append(chunk)
    links: _Links = {}
    for store, corpora in by_store({corpus: homes[corpus] for corpus in ids}):
        chunks = sorted({chunk for corpus in corpora.values() for chunk in ids[corpus]})
        read = run(store, deadline, partial(_links, corpora=list(corpora), ids=chunks))
        links |= {(corpora[corpus], chunk): of for (corpus, chunk), of in read.items()}
    return links


def _links(conn: Connection, *, corpora: Sequence[str], ids: Sequence[int]) -> _Links:
    rows = conn.execute(
        """SELECT corpus, chunk_id, document_id, repo, path, metadata FROM chunks
        WHERE corpus = ANY(%s::text[]) AND chunk_id = ANY(%s::bigint[])
          AND (strpos(metadata, %s) > 0 OR path IS NOT NULL AND strpos(metadata, %s) > 0)""",
        (list(corpora), list(ids), f'"{CHANGED_PATHS}": [', '"pr_number": '),
    )
    return {
        (corpus, chunk): (document, repo, changed_paths(metadata) or [path] * (path is not None))
        for corpus, chunk, document, repo, path, metadata in rows.fetchall()
    }


def _visible_files(
    conn: Connection, item: tuple[int, SearchFilter, Sequence[File]], *, corpus: str
) -> list[tuple[int, str, str, list[int]]]:
    """A query, and those of the files that it may see, each with its chunks."""
    query, scope, files = item
    parameters: dict[str, Any] = {"corpus": corpus}
    rows = conn.execute(
        f"""SELECT c.repo, c.path, array_agg(c.chunk_id) FROM chunks c
        WHERE {seen(scope, "c", parameters)} AND {in_files("c", files, parameters)}
        GROUP BY c.repo, c.path""",
        parameters,
    )
    return [(query, *row) for row in rows.fetchall()]
