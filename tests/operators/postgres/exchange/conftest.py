from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from psycopg import sql

from operators.postgres.exchange.columns import LEFT_OUT, TABLES
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store
from operators.postgres.write.document_writer import document_key, write_documents
from operators.postgres.write.ledger import record_failed_version, record_failure

MOMENT = datetime(1999, 12, 31, 23, 59, 59, 123456, tzinfo=UTC)
KEY = document_key("docs", "o/r", "d2")
REST = """
    INSERT INTO embedding_cache VALUES
        ('test-space', 'h1', '\\x003c0000000000000000000000000000'), ('other', '', '\\x000000bc');
    INSERT INTO sync_items
        VALUES ('github a', 'issue', -1, 7, '2024-02-29 12:00+02', 'h', '{"title": "é"}');
    INSERT INTO sync_state VALUES ('git docs o/r', 'addresses', '["/there"]');
    INSERT INTO runs (source, corpora) VALUES ('killed', '{}');
    INSERT INTO runs (source, corpora, finished_at, ok, chunks)
        VALUES ('git', array['docs', 'wi"k,i'], now(), true, 3);
    INSERT INTO document_versions VALUES (%(key)s, 'docs', 'guide', '1.9', 0, false, NULL, now());
    INSERT INTO superseded_chunks VALUES ('docs', -2, %(key)s, 'same', 9, now(), NULL);
    UPDATE document_sketches SET sketch = '\\xdeadbeef' WHERE document_key = %(key)s;
    INSERT INTO versioned_corpora VALUES ('docs', 3, 2, clock_timestamp());
    INSERT INTO rights VALUES (true, 'rules: []', false);
"""


def fill(store: Store, filling: Any) -> None:
    """Give every table rows, with nulls and odd values in them."""
    rows = [
        {"chunk_id": -(2**63), "title": "Ünï\tcode", "text": "flush the cache\n" * 9},
        {"chunk_id": 2**63 - 1, "text": "", "path": "a/b.py", "start_line": 3},
        {"corpus": "docs", "repo": "o/r", "document_id": "d2", "chunk_id": -2, "created_at": MOMENT}
        | {"text": "the queue and the cache", "version": "1.9", "lineage_id": "guide"},
        {"corpus": "wi-ki", "document_id": "d3", "chunk_id": 1, "metadata": '{"a": [1]}'},
    ]
    unit = np.eye(8)[:4] * 0.6 + np.eye(8)[4:] * -0.8
    chunks = filling.chunks([row | {"embedding": v} for row, v in zip(rows, unit, strict=True)])
    allowed = pl.Series("allowed", [["ann"], None, [], ["everyone"]], dtype=pl.List(pl.String))
    documents = filling.documents(chunks).with_columns(allowed, allowed_by=pl.lit("source"))
    write_documents(store, documents, chunks)
    record_failure(store, "nothing", "", "d4", "unreadable")
    record_failed_version(store, "docs", "o/r", "d2", "broken", "h2 f2")
    with store.transaction() as conn:
        for statement in REST.strip().split(";\n"):
            conn.execute(statement, {"key": KEY})
    make_searchable(store)


@pytest.fixture
def full(store: Store, filling: Any) -> Store:
    """A collection with rows in every table, and with nulls and odd values in them."""
    fill(store, filling)
    return store


@pytest.fixture(scope="session")
def fill_all() -> Callable[[Store, Any], None]:
    """What fills :func:`full`."""
    return fill


@pytest.fixture
def tables() -> Callable[..., dict[str, list[Any]]]:
    """All rows of all tables as text; without ``LEFT_OUT`` if they are what is ``written``."""

    def read(store: Store, *, written: bool = False) -> dict[str, list[Any]]:
        held = {}
        with store.transaction() as conn:
            for table in TABLES:
                named = conn.execute(
                    "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
                    " AND NOT attisdropped AND attname <> ALL (%s) ORDER BY attname",
                    (table, LEFT_OUT if written else []),
                )
                chosen = sql.SQL(", ").join(
                    sql.SQL("{}::text").format(sql.Identifier(name)) for (name,) in named
                )
                statement = sql.SQL("SELECT {} FROM {}").format(chosen, sql.Identifier(table))
                held[table] = sorted(conn.execute(statement).fetchall(), key=repr)
        return held

    return read
