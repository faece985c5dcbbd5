from __future__ import annotations

from typing import Any

import pytest

from operators.errors import CrosscorpusError
from operators.postgres.schema.tables import check_vectors
from operators.postgres.store import Store


def test_a_whole_collection_passes(store: Store) -> None:
    store.run(lambda conn: check_vectors(conn, store.collection, store.schema))


def test_a_collection_without_its_vectors_says_what_it_has_lost(store: Store) -> None:
    def work(conn: Any) -> None:
        conn.execute("ALTER TABLE chunks DROP COLUMN embedding")
        check_vectors(conn, store.collection, store.schema)

    with pytest.raises(CrosscorpusError, match=store.collection):
        store.run(work)
