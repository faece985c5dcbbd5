"""Tables, partitions, indexes and migrations of a collection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from operators.postgres.errors import DatabaseError
from operators.postgres.inspect.status import status
from operators.postgres.schema import indexes, migrate
from operators.postgres.schema.indexes import make_searchable, pending_corpora
from operators.postgres.schema.migrate import MigrationError, apply_migrations, pending_migrations
from operators.postgres.schema.partitions import ensure_partitions, index_name, partition
from operators.postgres.schema.plain_text import index_plain_text
from operators.postgres.search.text_search import plain_search
from operators.postgres.store import Store

SCHEMA = 'migrate "test"'
PATH = '"migrate ""test""", public'


@pytest.fixture
def conn(server_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        yield conn
        conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(SCHEMA)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE a (n int); INSERT INTO a VALUES (1);")
    (tmp_path / "0002_second.sql").write_text("ALTER TABLE a ADD COLUMN m int;")
    monkeypatch.setattr(migrate, "MIGRATIONS", tmp_path)
    return tmp_path


def test_files_are_applied_once_and_in_order(conn: psycopg.Connection, folder: Path) -> None:
    assert pending_migrations(conn, SCHEMA) == ["0001_first.sql", "0002_second.sql"]
    applied = apply_migrations(conn, SCHEMA, PATH)
    assert applied == ["0001_first.sql", "0002_second.sql"]
    assert apply_migrations(conn, SCHEMA, PATH) == []
    assert pending_migrations(conn, SCHEMA) == []


def test_an_edited_file_is_a_clear_error(conn: psycopg.Connection, folder: Path) -> None:
    apply_migrations(conn, SCHEMA, PATH)
    (folder / "0001_first.sql").write_text("CREATE TABLE b (n int)")
    with pytest.raises(MigrationError, match=r"0001_first\.sql was edited"):
        apply_migrations(conn, SCHEMA, PATH)


def test_a_missing_file_says_to_upgrade(conn: psycopg.Connection, folder: Path) -> None:
    apply_migrations(conn, SCHEMA, PATH)
    (folder / "0002_second.sql").unlink()
    with pytest.raises(MigrationError, match="newer version"):
        pending_migrations(conn, SCHEMA)


def test_what_an_older_version_made_says_to_drop_it(conn: psycopg.Connection, folder: Path) -> None:
    apply_migrations(conn, SCHEMA, PATH)
    (folder / "0001_first.sql").unlink()
    with pytest.raises(MigrationError, match=r"older version .* collections drop NAME"):
        pending_migrations(conn, SCHEMA)


def test_a_file_that_fails_leaves_the_schema_as_it_was(
    conn: psycopg.Connection, folder: Path
) -> None:
    second = (folder / "0002_second.sql").rename(folder / "later")
    apply_migrations(conn, SCHEMA, PATH)
    second.rename(folder / "0002_second.sql")
    (folder / "0003_broken.sql").write_text("CREATE TABLE c (n int); SELECT 1/0;")
    with pytest.raises(psycopg.errors.DivisionByZero):
        apply_migrations(conn, SCHEMA, PATH)
    assert pending_migrations(conn, SCHEMA) == ["0002_second.sql", "0003_broken.sql"]
    columns = sql.SQL("SELECT * FROM {}").format(sql.Identifier(SCHEMA, "a"))
    assert [column.name for column in conn.execute(columns).description or ()] == ["n"]


def test_processes_that_migrate_at_once_take_turns(
    conn: psycopg.Connection, server_dsn: str, folder: Path
) -> None:
    applied: list[str] = []

    def bring_up() -> None:
        with psycopg.connect(server_dsn, autocommit=True) as mine:
            applied.extend(apply_migrations(mine, SCHEMA, PATH))

    threads = [threading.Thread(target=bring_up) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(applied) == ["0001_first.sql", "0002_second.sql"]


def test_who_waited_for_its_turn_sees_what_the_others_made(
    conn: psycopg.Connection, server_dsn: str, folder: Path
) -> None:
    with psycopg.connect(server_dsn) as other:
        other.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('migrate ' || %s, 0))", [SCHEMA]
        )
        # The server remembers for each connection which roles there are and which names are not.
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        assert pending_migrations(conn, SCHEMA)
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(apply_migrations, conn, SCHEMA, PATH)
            asked = "SELECT query FROM pg_stat_activity WHERE pid = %s"
            with psycopg.connect(server_dsn, autocommit=True) as watch:
                while "try" not in watch.execute(asked, [conn.info.backend_pid]).fetchone()[0]:
                    assert not waiting.done()
                    time.sleep(0.01)
            apply_migrations(other, SCHEMA, PATH)
            other.commit()
            assert waiting.result() == []


INDEXES = ["hnsw", "terms"]


def partitions(store: Store) -> set[str]:
    rows = store.rows(
        "SELECT inhrelid::regclass::text FROM pg_inherits"
        " WHERE inhparent IN ('chunks'::regclass, 'postings'::regclass)"
    )
    return {str(row[0]) for row in rows}


@pytest.mark.parametrize("name", ["docs_pkey", "repo"])
def test_a_corpus_with_the_name_of_an_index_is_refused(store: Store, name: str) -> None:
    ensure_partitions(store, ["docs"])
    with pytest.raises(DatabaseError, match=f"no corpus '{name}' .*chunks_{name}") as refused:
        ensure_partitions(store, [name])
    assert refused.value.kind == "name_taken"
    assert partitions(store) == {"chunks_docs", "postings_docs"}


@pytest.mark.parametrize("what", INDEXES)
def test_a_corpus_never_has_the_name_of_another_ones_index(store: Store, what: str) -> None:
    ensure_partitions(store, ["docs", f"docs_{what}", f"code_{what}", "code"])
    name = f"docs__{what}"
    assert partition("chunks", name) == index_name("chunks", "docs", what)
    with pytest.raises(DatabaseError, match=f"no corpus '{name}' .*chunks_{name}"):
        ensure_partitions(store, [name])


def test_a_corpus_that_several_make_at_once_is_made_once(store: Store) -> None:
    with ThreadPoolExecutor(2) as threads:
        for _ in threads.map(lambda _: ensure_partitions(store, ["docs"]), range(6)):
            pass
    assert partitions(store) == {"chunks_docs", "postings_docs"}


def test_two_that_build_the_same_indexes_at_once_both_end_well(
    store: Store, filling: Any, server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 0)
    filling.write(store, [{}, {}])
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    with (
        ThreadPoolExecutor(2) as threads,
        psycopg.connect(server_dsn) as writer,
        psycopg.connect(server_dsn, autocommit=True) as watch,
    ):
        writer.execute(f'LOCK TABLE "{store.schema}".postings_code IN ROW EXCLUSIVE MODE')
        loads = [threads.submit(make_searchable, store, ["code"]) for _ in range(2)]
        while watch.execute(waiting).fetchone() != (2,):
            assert not any(load.done() for load in loads)
            time.sleep(0.01)
        writer.rollback()
        for load in loads:
            load.result()
    assert status(store)["vector_index"].to_list() == [True]


def test_finishing_builds_the_vector_index_only_beyond_what_is_scanned_exactly(
    store: Store, filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling.write(store, [{} for _ in range(30)])

    def made() -> set[str]:
        with store.transaction() as conn:
            rows = conn.execute(
                "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
            )
            return {name for (name,) in rows}

    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 30)
    make_searchable(store, ["code", "never written"])
    assert "chunks_code__hnsw" not in made()
    assert "postings_code__terms" in made()
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 29)
    make_searchable(store)
    make_searchable(store)
    assert "chunks_code__hnsw" in made()


def test_a_corpus_is_unfinished_until_its_load_is_finished(store: Store, filling: Any) -> None:
    assert pending_corpora(store) == []
    filling.write(store, [{"corpus": "wiki"}, {"corpus": "code"}])
    assert pending_corpora(store) == ["code", "wiki"]
    make_searchable(store, ["code"])
    assert pending_corpora(store) == ["wiki"]
    make_searchable(store)
    assert pending_corpora(store) == []


TEXT_INDEXES = (
    "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexdef LIKE '%%tsvector%%'"
)


def test_the_index_changes_no_answer_and_is_made_once(store: Store, filling: Any) -> None:
    filling.write(
        store, [{"chunk_id": n, "text": t} for n, t in enumerate(["flush it", "the cache"])]
    )
    queries = filling.queries([{"texts": ["flush"]}])
    before = plain_search(store, "code", queries, k=5)
    for _ in range(2):
        index_plain_text(store, ["code", "absent"])
    indexes = store.rows(TEXT_INDEXES, (store.schema,))
    assert len(indexes) == 1
    assert plain_search(store, "code", queries, k=5).equals(before)
    assert before["chunk_id"].to_list() == [0]
