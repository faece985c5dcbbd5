"""A rewritten partition is the same to all its readers, and they may read meanwhile."""

from __future__ import annotations

from threading import Thread
from typing import Any

import psycopg
import pytest
from dying import WordEmbedder
from ingested import document
from ingesting import ingest_documents

from dataflow import build_driver
from operators.postgres.inspect.verify import verify
from operators.postgres.schema import rewritten_partition
from operators.postgres.schema.rewritten_partition import rewrite_partition
from operators.postgres.store import Store

_OF_TABLE = """
    SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()
    UNION ALL SELECT c.relname, array_to_string(c.reloptions, ',') FROM pg_class c
    WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind = 'r'
    UNION ALL SELECT c.conrelid::regclass::text || conname, pg_get_constraintdef(c.oid)
    FROM pg_constraint c WHERE connamespace = to_regnamespace(quote_ident(current_schema()))
    UNION ALL SELECT inhparent::regclass::text, inhrelid::regclass::text FROM pg_inherits
    WHERE inhrelid::regclass::text LIKE '%docs%'
    ORDER BY 1, 2
"""
ROWS = "SELECT to_jsonb(t)::text FROM {} t ORDER BY 1"


@pytest.fixture
def filled(store: Store, write_lines: Any, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A collection whose passages have a vector index too."""
    monkeypatch.setattr("operators.postgres.schema.indexes.EXACT_SCAN_MAX_ROWS", 3)
    ingest_documents(store, WordEmbedder(), write_lines(*[document(n) for n in range(9)]))
    return store


def test_a_rewritten_partition_has_the_same_rows_indexes_and_place(
    filled: Store, write_lines: Any
) -> None:
    before = filled.rows(_OF_TABLE)
    assert any("hnsw" in str(row) for row in before)
    with build_driver("default", store=filled, embedder=WordEmbedder()) as driver:
        found = driver.ask("word3x1 word3x2").frame
        for table in ("chunks", "postings"):
            rows = filled.rows(ROWS.format(table))
            file = filled.row(f"SELECT pg_relation_filepath('{table}_docs')")
            assert rewrite_partition(filled, table, "docs")
            assert filled.rows(ROWS.format(table)) == rows
            assert filled.row(f"SELECT pg_relation_filepath('{table}_docs')") != file
        assert filled.rows(_OF_TABLE) == before
        assert driver.ask("word3x1 word3x2").frame.equals(found)
    ingest_documents(
        filled, WordEmbedder(), write_lines(*[document(n, text="x") for n in range(8)])
    )
    assert verify(filled).is_empty()


def test_questions_go_on_while_a_partition_is_rewritten(
    filled: Store, server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewritten_partition, "LOCK_SECONDS", 0.1)
    read = f'SELECT count(*) FROM "{filled.schema}".chunks'
    done = list[bool]()
    with psycopg.connect(server_dsn) as long, psycopg.connect(server_dsn) as other:
        long.execute(read)  # and it stays open
        other.autocommit = True
        other.execute("SET lock_timeout = '5s'")
        work = Thread(target=lambda: done.append(rewrite_partition(filled, "chunks", "docs")))
        work.start()
        for _ in range(20):
            assert other.execute(read).fetchone() != (0,)
        assert not done
        long.rollback()
        work.join(60)
        assert done == [True]
        assert other.execute(read).fetchone() != (0,)


def test_a_partition_that_somebody_gave_rights_to_is_left_alone(filled: Store) -> None:
    filled.execute("GRANT SELECT ON chunks_docs TO PUBLIC")
    assert not rewrite_partition(filled, "chunks", "docs")
