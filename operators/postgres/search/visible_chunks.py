"""How many chunks a query may see; and their ids, if they are few among many superseded ones.

To find four thousand current chunks among fifty thousand, a search would read them all. So their
ids are looked up once and kept until the corpus changes; a search then reads only these chunks.
It may use a state that is a second old; the reading of its finds looks versions up again, by
:func:`operators.postgres.search.version_filters.by_documents`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from operators.postgres.search.batches import Deadline, run, run_slices
from operators.postgres.search.filters import Filter, scopes
from operators.postgres.search.version_filters import seen
from operators.postgres.search.version_pins import pinned_chunks
from operators.postgres.store import Connection, Store, collection_info

LISTED_ABOVE = 5_000
"""Superseded chunks of a corpus. If there are fewer, a search reads all and leaves them out."""

LONGEST = 20_000
"""Ids of a list; each search sends the list."""

MOST_KEPT = 16
"""Lists that are kept."""


def search_filters(
    store: Store, deadline: Deadline, corpus: str, queries: pl.DataFrame
) -> list[tuple[int, Filter]]:
    """The query_id and the filter of each of ``queries`` (``SCOPED_QUERIES``) that may search.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    found = scopes(queries, corpus, collection_info(store).superseded.get(corpus))
    whole = {one: with_chunks(store, deadline, corpus, one) for one in {one for _, one in found}}
    return [(query_id, whole[one]) for query_id, one in found]


def with_chunks(store: Store, deadline: Deadline, corpus: str, one: Filter) -> Filter:
    """``one`` with the chunks of ``corpus`` that its versions let in and leave out, for a search.

    It lists all that the versions leave at present where that is faster.
    """
    inside, outside = pinned_chunks(store, deadline, corpus, one)
    one = replace(one, inside=inside, outside=outside)
    if one.superseded is None or one.as_of is not None:
        return one
    info = collection_info(store)
    state, replaced = info.states.get(corpus), one.superseded.by(None)
    left = info.corpora.get(corpus, 0) - replaced + one.pinned_chunks
    if info.versions_at is None or state is None or not is_worth_a_list(replaced, left):
        return one
    listed = store.cache.visible.get(
        (corpus, one.pinned),
        (info.versions_at, state),
        lambda: run(store, deadline, lambda conn: _visible(conn, corpus, one)),
        most=MOST_KEPT,
    )
    return replace(one, visible=listed)


def is_worth_a_list(replaced: int, left: int) -> bool:
    """Whether a search with a list is faster.

    To read one chunk by its id takes as long as to read four in a scan.
    """
    return replaced > LISTED_ABOVE and left <= min(replaced, LONGEST)


def visible_counts(
    store: Store, deadline: Deadline, corpus: str, filters: Collection[Filter], *, limit: int
) -> dict[Filter, int]:
    """How many chunks each of ``filters`` leaves visible, counted up to ``limit`` + 1.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    sizes = collection_info(store).repos.get(corpus, {})
    known = {one: visible_at_most(one, sizes, limit=limit) for one in filters}
    unknown = [one for one, most in known.items() if most is None]

    def count(conn: Connection, one: Filter) -> list[tuple[Filter, int]]:
        return [(one, count_visible(conn, corpus, one, limit=limit))]

    counted = dict(run_slices(store, deadline, unknown, count))
    return {one: most for one, most in known.items() if most is not None} | counted


def visible_at_most(one: Filter, repo_sizes: Mapping[str, int], *, limit: int) -> int | None:
    """How many chunks ``one`` leaves visible, without a count.

    The answer follows from ``repo_sizes`` and the known number of superseded chunks. It is exact if
    only versions decide, and an upper bound with lists of repos or pinned versions. With other
    filters it is an upper bound of at most ``limit``. Else None: :func:`count_visible` counts.
    """
    names = repo_sizes if one.repos is None else one.repos
    bound = sum(repo_sizes.get(name, 0) for name in names)
    if one.superseded is not None:
        most = sum(repo_sizes.values()) + one.pinned_chunks
        bound = min(bound, most - one.superseded.by(one.as_of))
    return bound if bound <= limit or (one.only_repos and one.as_of is None) else None


def count_visible(conn: Connection, corpus: str, one: Filter, *, limit: int) -> int:
    """How many chunks of ``corpus`` ``one`` leaves visible, up to ``limit`` + 1."""
    parameters: dict[str, Any] = {"corpus": corpus, "limit": limit + 1}
    rows = f"SELECT 1 FROM chunks c WHERE {seen(one, 'c', parameters)} LIMIT %(limit)s"
    ((found,),) = conn.execute(f"SELECT count(*) FROM ({rows}) AS f", parameters).fetchall()
    return int(found)


def _visible(conn: Connection, corpus: str, one: Filter) -> str:
    """The array literal of the chunks that the versions of ``one`` leave."""
    parameters: dict[str, Any] = {"corpus": corpus}
    versions = Filter(
        superseded=one.superseded, pinned=one.pinned, inside=one.inside, outside=one.outside
    )
    row = conn.execute(
        "SELECT coalesce(array_agg(c.chunk_id ORDER BY c.chunk_id), '{}')::text FROM chunks c"
        f" WHERE {seen(versions, 'c', parameters)}",
        parameters,
    ).fetchone()
    return str(row[0]) if row else "{}"
