"""How many chunks a query may see, and their ids if they are few among many superseded ones.

To select four thousand current chunks among fifty thousand, a search would read them all. So their
ids are looked up once and cached until the corpus changes; a search then reads only these chunks.
It may use a state that is a second old; when its hits are read, versions are looked up again, by
:func:`operators.postgres.search.version_filters.by_documents`.
"""

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl

from operators.postgres.search.batches import Deadline, run, run_slices
from operators.postgres.search.filters import Filter, scopes
from operators.postgres.search.version_filters import SearchFilter, seen
from operators.postgres.search.version_pins import pinned_chunks
from operators.postgres.store import Connection, Store, collection_info

LISTED_ABOVE = 5_000
"""Superseded chunks of a corpus. If there are fewer, a search reads all and filters them out."""

LONGEST = 20_000
"""Maximum number of ids of a list; each search sends the list."""

MOST_KEPT = 16
"""Maximum number of lists in the cache."""


def search_filters(
    store: Store, deadline: Deadline, corpus: str, queries: pl.DataFrame
) -> dict[int, SearchFilter]:
    """The filter of each of ``queries`` (``SCOPED_QUERIES``) that may search, by query_id.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    pairs = scopes(queries, corpus, collection_info(store).superseded.get(corpus))
    different = {scope for _, scope in pairs}
    whole = {scope: search_filter(store, deadline, corpus, scope) for scope in different}
    return {query_id: whole[scope] for query_id, scope in pairs}


def search_filter(store: Store, deadline: Deadline, corpus: str, scope: Filter) -> SearchFilter:
    """``scope`` with the chunks of ``corpus`` that its versions include and exclude, for a search.

    If that is faster, it lists all chunks that its versions include at present.
    """
    inside, outside = pinned_chunks(store, deadline, corpus, scope)
    versions = Filter(superseded=scope.superseded, pinned=scope.pinned)
    current = SearchFilter(versions, inside, outside)
    listed = None
    if scope.superseded is not None and scope.as_of is None:
        info = collection_info(store)
        state, replaced = info.states.get(corpus), scope.superseded
        left = info.corpora.get(corpus, 0) - replaced + current.pinned_chunks
        if info.versions_at is not None and state and is_worth_a_list(replaced, left):
            listed = store.cache.visible.get(
                (corpus, scope.pinned),
                (info.versions_at, state, store.state),
                lambda: run(store, deadline, lambda conn: _visible(conn, corpus, current)),
                most=MOST_KEPT,
            )
    return SearchFilter(scope, inside, outside, listed)


def is_worth_a_list(replaced: int, left: int) -> bool:
    """Whether a search with a list is faster.

    Reading one chunk by its id takes as long as reading four in a scan.
    """
    return replaced > LISTED_ABOVE and left <= min(replaced, LONGEST)


def visible_counts(
    store: Store, deadline: Deadline, corpus: str, filters: Collection[SearchFilter], *, limit: int
) -> dict[SearchFilter, int]:
    """How many chunks pass each of ``filters``, counted up to ``limit`` + 1.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    sizes = collection_info(store).repos.get(corpus, {})
    known = {scope: visible_at_most(scope, sizes, limit=limit) for scope in filters}
    unknown = [scope for scope, most in known.items() if most is None]

    def count(conn: Connection, scope: SearchFilter) -> list[tuple[SearchFilter, int]]:
        return [(scope, count_visible(conn, corpus, scope, limit=limit))]

    counted = dict(run_slices(store, deadline, unknown, count))
    return {scope: most for scope, most in known.items() if most is not None} | counted


def visible_at_most(
    scope: SearchFilter, repo_sizes: Mapping[str, int], *, limit: int
) -> int | None:
    """How many chunks pass ``scope``, without counting them.

    It is computed from ``repo_sizes`` and the known number of superseded chunks: exact if only
    versions decide, an upper bound with lists of repos or pinned versions. With other filters it is
    an upper bound of at most ``limit``, else None: then :func:`count_visible` counts.
    """
    filters = scope.filter
    names = repo_sizes if filters.repos is None else filters.repos
    bound = sum(repo_sizes.get(name, 0) for name in names)
    if filters.superseded is not None:
        most = sum(repo_sizes.values()) + scope.pinned_chunks
        bound = min(bound, most - (filters.superseded if filters.as_of is None else 0))
    alone = not filters.texts and filters.as_of is None
    return bound if bound <= limit or alone else None


def count_visible(conn: Connection, corpus: str, scope: SearchFilter, *, limit: int) -> int:
    """How many chunks of ``corpus`` pass ``scope``, counted up to ``limit`` + 1."""
    parameters: dict[str, Any] = {"corpus": corpus, "limit": limit + 1}
    rows = f"SELECT 1 FROM chunks c WHERE {seen(scope, 'c', parameters)} LIMIT %(limit)s"
    ((count,),) = conn.execute(f"SELECT count(*) FROM ({rows}) AS f", parameters).fetchall()
    return int(count)


def _visible(conn: Connection, corpus: str, scope: SearchFilter) -> str:
    """The array literal of the chunks that pass ``scope``."""
    parameters: dict[str, Any] = {"corpus": corpus}
    row = conn.execute(
        "SELECT coalesce(array_agg(c.chunk_id ORDER BY c.chunk_id), '{}')::text FROM chunks c"
        f" WHERE {seen(scope, 'c', parameters)}",
        parameters,
    ).fetchone()
    return str(row[0]) if row else "{}"
