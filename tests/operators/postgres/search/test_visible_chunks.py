from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.frames import SCOPED_QUERIES
from operators.postgres.search import visible_chunks
from operators.postgres.search.batches import Deadline
from operators.postgres.search.filters import Filter
from operators.postgres.search.text_search import bm25_search
from operators.postgres.search.visible_chunks import search_filter
from operators.postgres.store import Store, collection_info
from operators.postgres.write.document_writer import document_key
from operators.postgres.write.version_store import mark_found

START = datetime(2024, 1, 1, tzinfo=UTC)


def scoped(batch: list[dict[str, Any]]) -> pl.DataFrame:
    rows = [{"query_id": n, "texts": ["common"], **query} for n, query in enumerate(batch)]
    return pl.DataFrame(rows, schema=SCOPED_QUERIES)


def test_the_list_of_current_chunks_is_made_once_until_the_corpus_changes(
    make_store: Callable[..., Store], filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible_chunks, "LISTED_ABOVE", 1)
    store = make_store()
    filling.write(
        store, [{"chunk_id": n, "document_id": f"d{n}", "text": "common"} for n in range(5)]
    )
    replaced = "INSERT INTO superseded_chunks VALUES ('code', %s, %s, 'same', 4, NULL, NULL)"
    for n in range(3):
        key = document_key("code", "", f"d{n}")
        store.run(lambda conn, n=n, key=key: conn.execute(replaced, (n, key)))

    def listed(moment: datetime | None = None) -> str | None:
        one = Filter(superseded=collection_info(store).superseded["code"], as_of=moment)
        return search_filter(store, Deadline.after(None, ""), "code", one).visible

    store.forget_info()
    assert listed() is None  # versions are being found
    mark_found(store, "code", 0, 1)
    store.forget_info()
    assert listed(START) is None
    assert listed() == "{3,4}"
    first = listed()
    assert listed() is first
    filling.write(store, [{"chunk_id": 5, "document_id": "d5", "text": "common"}])
    store.forget_info()
    assert listed() == "{3,4,5}"
    everything = scoped([{"version_policy": "newest"}])
    assert set(bm25_search(store, "code", everything, k=9)["chunk_id"]) == {3, 4, 5}
