"""The mirror of a live source: its items, and the position in each of its listings.

A listing's position is committed together with its items, so it is never ahead of them. Every run
builds documents from all items and compares them with the ledger, so an interrupted run loses no
change.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any

from operators.postgres.row_writer import insert_rows
from operators.postgres.store import Connection, Store

PAGE = 2_000
_ITEM = {
    **{"source": "text", "kind": "text", "item_id": "int8", "number": "int8"},
    **{"updated_at": "timestamptz", "content_hash": "text", "data": "text"},
}

ItemKey = tuple[str, int]
"""kind, item_id."""

State = Mapping[str, Mapping[str, Any] | None]
"""Values to store, by name; None deletes one."""

_IF_NEWER = """
    ON CONFLICT (source, kind, item_id) DO UPDATE
    SET number = excluded.number, updated_at = excluded.updated_at,
        content_hash = excluded.content_hash, data = excluded.data
    WHERE stored.updated_at <= excluded.updated_at
      AND (stored.updated_at, stored.content_hash) <> (excluded.updated_at, excluded.content_hash)
"""


@dataclass(frozen=True, slots=True)
class SyncItem:
    """One item of a source, reduced to the parts that documents need."""

    kind: str  # such as comment or issue
    item_id: int  # the source's own number among its kind
    number: int  # its pull request or issue; the items of one number are built together
    updated_at: datetime  # the source's time of the last change
    content_hash: str  # SHA-256 over ``data``: two edits may have one ``updated_at``
    data: dict[str, Any]  # JSON values by name

    @property
    def key(self) -> ItemKey:
        """The item's key in its source."""
        return (self.kind, self.item_id)


def sync_value(store: Store, source: str, name: str) -> dict[str, Any]:
    """The value stored under ``name``; empty if there is none."""
    row = store.row("SELECT value FROM sync_state WHERE source = %s AND name = %s", (source, name))
    return dict(json.loads(row[0])) if row else {}


def sync_values(store: Store, name: str) -> dict[str, dict[str, Any]]:
    """The values of all sources that are stored under ``name``, by source."""
    rows = store.rows(
        'SELECT source, value FROM sync_state WHERE name = %s ORDER BY source COLLATE "C"', (name,)
    )
    return {str(source): json.loads(value) for source, value in rows}


def save_items(
    store: Store,
    source: str,
    items: Sequence[SyncItem],
    state: State,
    *,
    instead: tuple[str, int] | None = None,
) -> None:
    """Store ``items`` and ``state`` in one transaction.

    A stored item with a later ``updated_at`` stays: a server may return an outdated copy. If
    ``items`` has one item twice, the later ``updated_at`` wins, then the last. ``instead``: delete
    all other items of that kind and number.
    """
    ids = sorted(item.item_id for item in items)
    newest = {item.key: item for item in sorted(items, key=attrgetter("updated_at"))}
    rows = [
        (source, *key, item.number, item.updated_at, item.content_hash, _json(item.data))
        for key, item in sorted(newest.items(), key=itemgetter(0))
    ]
    forgotten = sorted(name for name, value in state.items() if value is None)
    kept = [(source, name, _json(of)) for name, of in sorted(state.items()) if of is not None]

    def work(conn: Connection) -> None:
        if instead:
            conn.execute(
                "DELETE FROM sync_items"
                " WHERE source = %s AND kind = %s AND number = %s AND NOT item_id = ANY(%s)",
                (source, *instead, ids),
            )
        insert_rows(conn, "sync_items AS stored", _ITEM, rows, _IF_NEWER)
        conn.execute(
            "DELETE FROM sync_state WHERE source = %s AND name = ANY(%s)", (source, forgotten)
        )
        write_state(conn, kept)

    store.run(work)


def drop_item(store: Store, source: str, key: ItemKey) -> None:
    """Delete the item with this ``key``, if it is stored."""
    store.execute(
        "DELETE FROM sync_items WHERE source = %s AND kind = %s AND item_id = %s", (source, *key)
    )


def item_keys(store: Store, source: str, kinds: Sequence[str]) -> dict[ItemKey, int]:
    """The stored items of ``kinds``, and the ``number`` of each."""
    rows = store.rows(
        "SELECT kind, item_id, number FROM sync_items WHERE source = %s AND kind = ANY(%s)",
        (source, list(kinds)),
    )
    return {(str(kind), int(item_id)): int(number) for kind, item_id, number in rows}


def count_items(store: Store, source: str) -> int:
    """How many items are stored."""
    row = store.row("SELECT count(*) FROM sync_items WHERE source = %s", (source,))
    return int(row[0]) if row else 0


def stored_items(store: Store, source: str) -> Iterator[SyncItem]:
    """All items by number, kind and id; ``PAGE`` of them are in memory."""
    last: tuple[int, str, int] = (-1, "", 0)
    while True:
        rows = store.rows(
            "SELECT kind, item_id, number, updated_at, content_hash, data FROM sync_items"
            " WHERE source = %s AND (number, kind, item_id) > (%s, %s, %s)"
            " ORDER BY number, kind, item_id LIMIT %s",
            (source, *last, PAGE),
        )
        for kind, item_id, number, updated_at, digest, data in rows:
            yield SyncItem(kind, item_id, number, updated_at, digest, json.loads(data))
        if len(rows) < PAGE:
            return
        last = (rows[-1][2], rows[-1][0], rows[-1][1])


def latest_changes(store: Store, source: str, kinds: Sequence[str]) -> dict[int, datetime]:
    """The latest ``updated_at`` under each ``number`` that has items of ``kinds``."""
    rows = store.rows(
        "SELECT number, max(updated_at) FROM sync_items"
        " WHERE source = %s AND kind = ANY(%s) GROUP BY number ORDER BY number",
        (source, list(kinds)),
    )
    return {int(number): latest for number, latest in rows}


def write_state(conn: Connection, rows: Sequence[tuple[str, str, str]]) -> None:
    """Insert or update ``rows`` (source, name, value) of ``sync_state``."""
    columns = dict.fromkeys(("source", "name", "value"), "text")
    update = "DO UPDATE SET value = excluded.value WHERE stored.value <> excluded.value"
    insert_rows(conn, "sync_state AS stored", columns, rows, f"ON CONFLICT (source, name) {update}")


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), sort_keys=True)
