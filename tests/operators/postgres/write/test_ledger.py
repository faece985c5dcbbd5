from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from ledger_rows import ledger
from psycopg import sql

from operators.postgres.schema import migrate
from operators.postgres.schema.migrate import MIGRATIONS, apply_migrations
from operators.postgres.search.chunk_reader import fetch_chunks
from operators.postgres.store import Store
from operators.postgres.write.document_writer import write_documents
from operators.postgres.write.ledger import (
    forget_failed_version,
    record_failed_version,
    record_failure,
)

NO_FAILURE = (None, None)


def test_the_ledger_tells_the_state_of_each_document(store: Store, filling: Any) -> None:
    chunks = filling.chunks([{"document_id": "b", "repo": "r"}, {"document_id": "a", "repo": "r"}])
    write_documents(store, filling.documents(chunks, "hash"), chunks[1:])
    record_failure(store, "code", "r", "c", "not\0text", content_hash="x", fingerprint="f")
    record_failure(store, "code", "r", "d", "scanned", state="no_text", fingerprint="f")
    record_failure(store, "code", "r", "e", "locked", state="encrypted", fingerprint="f")
    assert ledger(store, "code", "r").rows() == [
        ("a", "hash", "f", "indexed", None, *NO_FAILURE),
        ("b", "hash", "f", "empty", None, *NO_FAILURE),
        ("c", "x", "f", "failed", "not\ufffdtext", *NO_FAILURE),
        ("d", None, "f", "no_text", "scanned", *NO_FAILURE),
        ("e", None, "f", "encrypted", "locked", *NO_FAILURE),
    ]
    assert ledger(store, "code", "other").is_empty()


def test_a_failure_deletes_what_the_document_gave_before(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
    record_failure(store, "code", "", "d", "broken")
    assert fetch_chunks(store, "code", pl.Series([1]), filling.queries([{}])).is_empty()
    with store.transaction() as conn:
        for table in ("terms", "corpora WHERE chunks <> 0", "repos WHERE chunks <> 0"):
            assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # type: ignore[arg-type]
    filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
    assert ledger(store, "code", "")["state"].to_list() == ["indexed"]


def test_a_failed_version_stands_beside_the_good_one_until_it_is_replaced_or_taken_back(
    store: Store, filling: Any
) -> None:
    filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
    whole = ("indexed", None, *NO_FAILURE)
    outdated = ("indexed", None, "h f", "broken")
    states = ledger(store, "code", "").columns[3:]
    for mend in ("taken back", "replaced"):
        record_failed_version(store, "code", "", "d", "broken", "h f")
        assert ledger(store, "code", "").select(states).rows() == [outdated]
        assert len(fetch_chunks(store, "code", pl.Series([1]), filling.queries([{}]))) == 1
        if mend == "taken back":
            forget_failed_version(store, "code", "", "d")
        else:
            filling.write(store, [{"chunk_id": 1, "document_id": "d"}])
        assert ledger(store, "code", "").select(states).rows() == [whole]


def test_a_note_on_how_a_document_was_read_is_kept_and_goes_with_the_next_version(
    store: Store, filling: Any
) -> None:
    chunks = filling.chunks([{"document_id": "d"}])
    documents = filling.documents(chunks)
    write_documents(store, documents.with_columns(note=pl.lit("cut by lines")), chunks)
    assert ledger(store, "code", "").select("state", "reason").rows() == [
        ("indexed", "cut by lines")
    ]
    write_documents(store, documents, chunks)
    assert ledger(store, "code", "").select("state", "reason").rows() == [("indexed", None)]


def test_what_an_older_version_called_failed_gets_its_state_without_being_read_again(
    server_dsn: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    schema = "before_states"
    older = tmp_path / "migrations"
    older.mkdir()
    for file in MIGRATIONS.glob("00[012]*.sql"):
        (older / file.name).write_bytes(file.read_bytes())
    reasons = ["no_text: no text", "encrypted: it asks", "empty file", "not: this"]
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema))
        request.addfinalizer(lambda: psycopg.connect(server_dsn, autocommit=True).execute(drop))
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(migrate, "MIGRATIONS", older)
            apply_migrations(conn, schema, f"{schema}, public")
        table = sql.Identifier(schema, "documents")
        for reason in reasons:
            conn.execute(
                sql.SQL(
                    "INSERT INTO {} (document_key, corpus, repo, document_id, content_hash, state,"
                    " reason) VALUES (gen_random_uuid(), 'docs', '', %s, 'h', 'failed', %s)"
                ).format(table),
                (reason, reason),
            )
        assert "0040_states.sql" in apply_migrations(conn, schema, f"{schema}, public")
        query = sql.SQL("SELECT state, reason, content_hash FROM {} ORDER BY 1, 2")
        assert conn.execute(query.format(table)).fetchall() == [
            ("encrypted", "it asks", "h"),
            ("failed", "empty file", "h"),
            ("failed", "not: this", "h"),
            ("no_text", "no text", "h"),
        ]
