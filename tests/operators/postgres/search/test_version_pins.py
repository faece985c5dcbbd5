"""The chunks of pinned versions: kept, and right again as soon as a lineage changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from operators.frames import SCOPED_QUERIES
from operators.postgres.document_key import document_key
from operators.postgres.search.batches import Deadline
from operators.postgres.search.filters import Filter
from operators.postgres.search.text_search import bm25_search
from operators.postgres.search.version_pins import MOST_KEPT, pinned_chunks
from operators.postgres.store import Store, collection_info
from operators.postgres.write.version_store import SupersededChunk, mark_found, write_lineages
from operators.versions.lineage import LINEAGES

NEVER = Deadline.after(None, "")


def place(store: Store, versions: Sequence[str]) -> None:
    """Have the documents d0, d1, ... be versions of one topic, each replacing the one before."""
    keys = [str(document_key("code", "", f"d{n}")) for n in range(len(versions))]
    rows = [
        {
            "document_key": key,
            "lineage_id": "t",
            "version": version,
            "position": n,
            "newest": n == len(versions) - 1,
            "released_at": None,
        }
        for n, (key, version) in enumerate(zip(keys, versions, strict=True))
    ]
    read: dict[str, datetime] = dict(
        store.rows("SELECT document_key::text, indexed_at FROM documents")
    )
    old = [SupersededChunk(n, key, "revised", n + 1, None, None) for n, key in enumerate(keys[:-1])]
    frame = pl.DataFrame(rows, schema=LINEAGES)
    assert write_lineages(store, "code", frame, [read[key] for key in keys], old)


@pytest.fixture
def store(make_store: Callable[..., Store], filling: Any) -> Store:
    store = make_store()
    chunks = [{"chunk_id": n, "document_id": f"d{n}", "text": "common"} for n in range(3)]
    filling.write(store, chunks)
    mark_found(store, "code", 1, 1)
    place(store, ["1.0", "1.1"])
    store.forget_info()
    return store


def pinning(store: Store, *names: str) -> Filter:
    return Filter(superseded=collection_info(store).superseded["code"], pinned=(names,))


def found(store: Store, version: str) -> list[int]:
    row = {"query_id": 0, "texts": ["common"], "version_policy": "pinned", "pinned": [[version]]}
    queries = pl.DataFrame([row], schema=SCOPED_QUERIES)
    return sorted(bm25_search(store, "code", queries, k=5)["chunk_id"].to_list())


def test_what_is_kept_is_forgotten_when_another_process_changes_a_lineage(store: Store) -> None:
    assert found(store, "1.0") == [0, 2]
    place(store, ["0.9", "1.0"])
    store.forget_info()  # which a second does as well
    assert found(store, "1.0") == [1, 2]
    assert found(store, "0.9") == [0, 2]


def test_only_so_many_pins_are_kept(store: Store) -> None:
    for n in range(MOST_KEPT + 5):
        pinned_chunks(store, NEVER, "code", pinning(store, f"{n}"))
    assert len(store.cache.pinned) == MOST_KEPT
