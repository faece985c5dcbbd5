"""The chunks that versions leave visible, listed where they are few among many superseded ones.

To find four thousand current chunks among fifty thousand, a search would read them all. So their
ids are looked up once and kept until the corpus changes; a search then reads these chunks alone.
It may so use what was true a second ago; what is read of its finds is looked up anew, by
:func:`operators.postgres.search.filters.by_documents`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.filters import Filter, up_to_date
from operators.postgres.store import Connection, Store, collection_info

LISTED_ABOVE = 5_000
"""Superseded chunks of a corpus; of fewer, a search reads and leaves out all of them."""

LONGEST = 20_000
"""Ids of a list: each search sends it."""

MOST_KEPT = 16
"""Lists that are kept."""


def with_current(
    store: Store,
    deadline: Deadline,
    corpus: str,
    one: Filter,
    moments: Collection[datetime | None],
) -> Filter:
    """``one`` with the list of chunks of ``corpus`` that its versions leave, if that helps.

    Args:
        store: the open collection.
        deadline: of the search.
        corpus: the corpus.
        one: what the search may see, with the chunks of its pinned versions.
        moments: the ``as_of`` of its queries: a list is of now.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    if one.superseded is None or any(moments):
        return one
    info = collection_info(store)
    state, replaced = info.states.get(corpus), one.superseded.total
    left = info.corpora.get(corpus, 0) - replaced + one.pinned_chunks
    if info.versions_at is None or state is None or not _is_worth_a_list(replaced, left):
        return one
    listed = store._info.current.get(
        (corpus, one.pinned),
        (info.versions_at, state),
        lambda: run(store, deadline, lambda conn: _visible(conn, corpus, one)),
        most=MOST_KEPT,
    )
    return replace(one, current=listed)


def _is_worth_a_list(replaced: int, left: int) -> bool:
    """To read a chunk by its id takes as long as to read four one after the other."""
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
