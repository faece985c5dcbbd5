from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from operators.postgres.schema import migrate
from operators.postgres.schema.migrate import (
    MIGRATIONS,
    MigrationError,
    apply_migrations,
    pending_migrations,
)

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


def test_a_file_that_fails_leaves_nothing_of_itself(conn: psycopg.Connection, folder: Path) -> None:
    (folder / "0003_broken.sql").write_text("CREATE TABLE c (n int); SELECT 1/0;")
    with pytest.raises(psycopg.errors.DivisionByZero):
        apply_migrations(conn, SCHEMA, PATH)
    assert pending_migrations(conn, SCHEMA) == ["0003_broken.sql"]
    table = sql.Identifier(SCHEMA, "c").as_string(conn)
    assert conn.execute("SELECT to_regclass(%s)", (table,)).fetchone() == (None,)


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
            apply_migrations(other, SCHEMA, PATH)
            other.commit()
            assert waiting.result() == []


def test_a_turn_is_waited_for_only_so_long(
    conn: psycopg.Connection, server_dsn: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "WAIT_S", 0.1)
    lock = "SELECT pg_advisory_xact_lock(hashtextextended('migrate ' || %s, 0))"
    with psycopg.connect(server_dsn) as other:
        other.execute(lock, (SCHEMA,))
        with pytest.raises(MigrationError, match="still migrating"):
            apply_migrations(conn, SCHEMA, PATH)


def test_a_collection_of_the_first_release_gets_the_new_columns_and_keeps_its_documents(
    conn: psycopg.Connection, tmp_path: Path
) -> None:
    first = min(MIGRATIONS.glob("*.sql"))
    (tmp_path / first.name).write_bytes(first.read_bytes())
    with conn.transaction():
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "MIGRATIONS", tmp_path)
        apply_migrations(conn, SCHEMA, PATH)
    documents = sql.Identifier(SCHEMA, "documents")
    conn.execute(
        sql.SQL(
            "INSERT INTO {} (document_key, corpus, repo, document_id, state, reason, indexed_at)"
            " VALUES (gen_random_uuid(), 'docs', 'a', 'kept', 'indexed', NULL, '2020-01-01'),"
            " (gen_random_uuid(), 'docs', 'a', 'scan', 'failed', 'no_text: a scan', '2020-01-01')"
        ).format(documents)
    )
    assert len(apply_migrations(conn, SCHEMA, PATH)) == len(list(MIGRATIONS.glob("*.sql"))) - 1
    rows = conn.execute(
        sql.SQL(
            "SELECT document_id, state, reason, doc_date, version, failed_reason,"
            " indexed_at = '2020-01-01' FROM {} ORDER BY 1"
        ).format(documents)
    ).fetchall()
    assert rows == [
        ("kept", "indexed", None, None, None, None, True),
        ("scan", "no_text", "a scan", None, None, None, True),
    ]
