"""How many chunks a query may see; and their ids, if they are few among many superseded ones.

To find four thousand current chunks among fifty thousand, a search would read them all. So their
ids are looked up once and kept until the corpus changes; a search then reads only these chunks.
It may use a state that is a second old; the reading of its finds looks versions up again, by
:func:`operators.postgres.search.version_filters.by_documents`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.filters import Filter, moment_of
from operators.postgres.search.version_filters import seen, up_to_date
from operators.postgres.store import Connection, Store, collection_info

LISTED_ABOVE = 5_000
"""Superseded chunks of a corpus. If there are fewer, a search reads all and leaves them out."""

LONGEST = 20_000
"""Ids of a list; each search sends the list."""

MOST_KEPT = 16
"""Lists that are kept."""


def visible_counts(
    store: Store,
    deadline: Deadline,
    corpus: str,
    one: Filter,
    moments: Sequence[datetime | None],
    *,
    limit: int,
) -> list[int]:
    """How many chunks each of ``moments`` leaves visible, counted up to ``limit`` + 1.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    sizes = collection_info(store).repos.get(corpus, {})
    known = visible_at_most(one, moments, sizes, limit=limit)
    if known is not None:
        return known
    return run(store, deadline, lambda conn: count_visible(conn, corpus, one, moments, limit=limit))


def visible_at_most(
    one: Filter, moments: Sequence[datetime | None], repo_sizes: Mapping[str, int], *, limit: int
) -> list[int] | None:
    """How many chunks each of ``moments`` (``as_of``) leaves visible, without a count.

    The answer follows from ``repo_sizes`` and the known number of superseded chunks. It is exact if
    only versions decide, and an upper bound with lists of repos or pinned versions. With other
    filters it is an upper bound of at most ``limit``. Else None: :func:`count_visible` counts.
    """
    names = repo_sizes if one.repos is None else one.repos
    bounds = [sum(repo_sizes.get(name, 0) for name in names)] * len(moments)
    undated = all(moment is None for moment in moments)
    if one.superseded is not None:
        most = sum(repo_sizes.values()) + one.pinned_chunks
        bounds = [
            min(bound, most - one.superseded.by(at))
            for bound, at in zip(bounds, moments, strict=True)
        ]
    known = max(bounds, default=0) <= limit or (one.only_repos and undated)
    return bounds if known else None


def count_visible(
    conn: Connection, corpus: str, one: Filter, moments: Sequence[datetime | None], *, limit: int
) -> list[int]:
    """How many chunks of ``corpus`` each of ``moments`` leaves visible, up to ``limit`` + 1."""

    def count(at: datetime | None) -> int:
        parameters: dict[str, Any] = {"corpus": corpus, "limit": limit + 1}
        visible = seen(one, "c", parameters, moment_of(at, parameters))
        rows = f"SELECT 1 FROM chunks c WHERE {visible} LIMIT %(limit)s"
        ((found,),) = conn.execute(f"SELECT count(*) FROM ({rows}) AS f", parameters).fetchall()
        return int(found)

    counted = {at: count(at) for at in set(moments)}
    return [counted[at] for at in moments]


def with_visible_chunks(
    store: Store, deadline: Deadline, corpus: str, one: Filter, moments: Collection[datetime | None]
) -> Filter:
    """``one`` with the list of chunks of ``corpus`` that its versions leave, if a list is faster.

    Args:
        one: what the search may see, with the chunks of its pinned versions.
        moments: the ``as_of`` of its queries; a list holds only for the present.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    if one.superseded is None or any(moments):
        return one
    info = collection_info(store)
    state, replaced = info.states.get(corpus), one.superseded.total
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


def _visible(conn: Connection, corpus: str, one: Filter) -> str:
    """The array literal of the chunks that the versions of ``one`` leave."""
    parameters: dict[str, Any] = {"corpus": corpus}
    row = conn.execute(
        "SELECT coalesce(array_agg(c.chunk_id ORDER BY c.chunk_id), '{}')::text FROM chunks c"
        f" WHERE c.corpus = %(corpus)s AND {up_to_date(one, 'c', parameters)}",
        parameters,
    ).fetchone()
    return str(row[0]) if row else "{}"
