from __future__ import annotations

from typing import Any

import pytest

from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store


@pytest.fixture
def whole(store: Store, filling: Any) -> Store:
    """Three documents, the second of two chunks."""
    rows = [
        {"chunk_id": 1, "document_id": "d0", "repo": "a"},
        {"chunk_id": 10, "document_id": "d1", "repo": "a", "text": "one two"},
        {"chunk_id": 11, "document_id": "d1", "repo": "a", "ordinal": 1, "text": "two three"},
        {"chunk_id": 2, "document_id": "d2", "repo": "b"},
    ]
    filling.write(store, rows)
    make_searchable(store)
    return store
