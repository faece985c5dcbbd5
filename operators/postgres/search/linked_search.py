"""Searches the files that found commits and reviews are about, if no search found them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import polars as pl

from operators.frames import CHANGED_PATHS, LINKED_HITS, empty
from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.filters import in_files
from operators.postgres.search.timed_search import Asked
from operators.postgres.search.vector_search import search_files
from operators.postgres.store import Connection, Home, by_store, collection_info
from operators.ranking.linked_files import File, changed_paths, linked_files

_Links: TypeAlias = dict[int, tuple[str, Sequence[str]]]
"""By chunk, its repository and the paths that it links to."""


def linked_search(
    asked: Asked,
    query_embeddings: pl.DataFrame,
    linking: pl.DataFrame,
    hits: Sequence[pl.DataFrame],
    homes: Mapping[str, Home],
    *,
    files: int,
) -> pl.DataFrame:
    """``LINKED_HITS``: the nearest passages of the files that hits of other corpora link to.

    A commit links to the files that it changed, a passage of a pull request to its path. The
    similarity is the mean over the query's texts; it counts as 0 for one to which another passage
    of the file is nearer.

    Args:
        asked: the corpus of the files.
        query_embeddings: columns ``QUERY_EMBEDDINGS``.
        linking: ``LINKING``, the hits of all corpora that may link to files.
        hits: what searches of ``asked`` found, with the columns query_id and chunk_id. Their files
            are left out.
        homes: by corpus, where it is held.
        files: the most files of a query, 0 for none; of each its nearest passage.

    Raises:
        SearchTimeout: ``asked.timeout_s`` has passed.
    """
    store, held_as = asked.home
    deadline = Deadline.after(asked.timeout_s, f"the search of linked files of {asked.corpus!r}")
    if not files or asked.queries.is_empty():
        return empty(LINKED_HITS)
    linking = linking.filter(pl.col("corpus") != asked.corpus)
    links = _read_links(linking, homes, deadline)
    votes = [
        (query, vote, *links[chunk])
        for query, _, chunk, vote in linking.iter_rows()
        if chunk in links
    ]
    if not votes or held_as not in collection_info(store).repos:
        return empty(LINKED_HITS)
    found: dict[int, set[int]] = defaultdict(set)
    for frame in hits:
        for query, chunk in frame["query_id", "chunk_id"].iter_rows():
            found[query].add(chunk)
    named = sorted({(repo, path) for _, _, repo, paths in votes for path in paths})
    held = run(store, deadline, partial(_held, held_as=held_as, files=named))
    wanted = linked_files(votes, found, held, most=files)
    lists = search_files(store, held_as, asked.queries, query_embeddings, wanted, deadline=deadline)
    texts = Counter(query_embeddings["query_id"])
    near: dict[tuple[int, int], float] = defaultdict(float)
    for query, chunk, distance in lists["query_id", "chunk_id", "distance"].iter_rows():
        near[query, chunk] += (1 - distance) / texts[query]
    rows = [(*key, 1 - similarity) for key, similarity in near.items()]
    return pl.DataFrame(rows, schema=LINKED_HITS, orient="row")


def _read_links(linking: pl.DataFrame, homes: Mapping[str, Home], deadline: Deadline) -> _Links:
    ids: dict[str, list[int]] = defaultdict(list)
    for corpus, chunk in linking["corpus", "chunk_id"].iter_rows():
        ids[corpus].append(chunk)
    links: _Links = {}
    for store, corpora in by_store({corpus: homes[corpus] for corpus in ids}):
        chunks = sorted({chunk for corpus in corpora.values() for chunk in ids[corpus]})
        links |= run(store, deadline, partial(_links, corpora=list(corpora), ids=chunks))
    return links


def _links(conn: Connection, *, corpora: Sequence[str], ids: Sequence[int]) -> _Links:
    rows = conn.execute(
        """SELECT chunk_id, repo, path, metadata FROM chunks
        WHERE corpus = ANY(%s::text[]) AND chunk_id = ANY(%s::bigint[])
          AND (strpos(metadata, %s) > 0 OR path IS NOT NULL AND strpos(metadata, %s) > 0)""",
        (list(corpora), list(ids), f'"{CHANGED_PATHS}": [', '"pr_number": '),
    )
    return {
        chunk: (repo, changed_paths(metadata) or [path] * (path is not None))
        for chunk, repo, path, metadata in rows.fetchall()
    }


def _held(conn: Connection, *, held_as: str, files: Sequence[File]) -> dict[File, list[int]]:
    """The chunks of those of the ``files`` that there are."""
    parameters: dict[str, Any] = {"corpus": held_as}
    rows = conn.execute(
        "SELECT c.repo, c.path, array_agg(c.chunk_id) FROM chunks c WHERE c.corpus = %(corpus)s"
        f" AND {in_files('c', files, parameters)} GROUP BY c.repo, c.path",
        parameters,
    )
    return {(repo, path): chunks for repo, path, chunks in rows.fetchall()}
