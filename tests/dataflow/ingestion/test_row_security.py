"""The role of the service: it answers callers, and reads no document by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from ingesting import ingest_documents
from psycopg.conninfo import make_conninfo
from word_embedder import WordEmbedder

from dataflow import build_driver
from operators.errors import CrosscorpusError
from operators.postgres.schema.caller_views import make_views
from operators.postgres.schema.row_security import COUNTED, POLICIES, enable_row_security
from operators.postgres.store import Store, open_store

ROLE = "crosscorpus_reader"


@pytest.fixture
def walled(store: Store, tmp_path: Path) -> Iterator[str]:
    """The address of the server for the role."""
    rows = [
        {"doc_id": name, "corpus": "docs", "title": name, "allowed": [name], "version": f"{n}.0"}
        | {"path": f"{n}.0/{name}.md", "text": f"The cache of {name} is flushed."}
        for n, name in enumerate(("ann", "bob"), 1)
    ]
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    ingest_documents(store, WordEmbedder(), file)
    store.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD 'x'")
    store.run(lambda conn: enable_row_security(conn, store.schema, ROLE))
    yield make_conninfo(store.dsn, user=ROLE, password="x")
    store.execute(f"DROP OWNED BY {ROLE}")
    store.execute(f"DROP ROLE {ROLE}")


def labels(driver: Any, *names: str) -> list[str]:
    return [one.label for one in driver.ask("cache flushed", principals=list(names))]


def test_callers_are_answered_and_the_role_itself_sees_no_document(
    walled: str, store: Store
) -> None:
    with (
        open_store(walled, store.collection) as reader,
        build_driver("default", store=reader, embedder=WordEmbedder()) as driver,
    ):
        assert ["ann" in one for one in labels(driver, "ann")] == [True]
        assert len(labels(driver, "ann", "bob")) == 2
        assert labels(driver, "eve") == []
        assert list(driver.ask("cache flushed")) == []
        for table in (*POLICIES, "releases"):
            assert reader.rows(f"SELECT count(*) FROM {table}") == [(0,)], table
        store.run(lambda conn: make_views(conn, store.schema))  # as a migration does
        assert len(labels(driver, "ann", "bob")) == 2


def test_the_role_reads_nothing_else(walled: str, store: Store) -> None:
    tables = store.rows(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v')"
        " AND relnamespace = current_schema()::regnamespace"
    )
    others = {name for (name,) in tables} - {*POLICIES, *COUNTED, "releases"}
    assert {"embedding_cache", "sync_items", "chunks_docs"} <= others
    with psycopg.connect(walled, autocommit=True) as conn:
        for name in sorted(others):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(f'SELECT 1 FROM "{store.schema}"."{name}"')
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(f'DELETE FROM "{store.schema}".chunks')


def test_a_role_that_no_policy_binds_is_refused(store: Store) -> None:
    with pytest.raises(CrosscorpusError, match="no role 'nobody'"):
        store.run(lambda conn: enable_row_security(conn, store.schema, "nobody"))
    owner = store.rows("SELECT current_user::text")[0][0]
    with pytest.raises(CrosscorpusError, match="superuser"):
        store.run(lambda conn: enable_row_security(conn, store.schema, owner))
