from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from pgbouncer import pooled
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from operators.foundation.data_dir import data_home
from operators.postgres import connection
from operators.postgres.connection import (
    connect,
    ensure_vector,
    is_pooled,
    open_pool,
    resolve_dsn,
    retrying,
)
from operators.postgres.errors import DatabaseError, explained
from operators.postgres.server.embedded_server import Server, in_use, start
from operators.postgres.store import drop_collection, open_store


@pytest.fixture
def own_server(database_home: Path) -> Server:
    """A server that a test may kill."""
    return start(database_home / "postgres")


def administer(dsn: str, query: str, *names: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(sql.SQL(query).format(*map(sql.Identifier, names)))


def kill_postmaster(server: Server) -> None:
    running = server.cluster.running()
    os.kill(running.pid, signal.SIGKILL)


# -- the extension -------------------------------------------------------------------------------


def test_the_extension_is_added_where_the_role_may(server_dsn: str, database: str) -> None:
    dsn = make_conninfo(server_dsn, dbname=database)

    def add(_: int) -> str:
        with connect(dsn) as conn:
            return ensure_vector(conn).schema

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(add, range(4))) == ["public"] * 4


def test_an_ordinary_role_gets_the_command_for_the_administrator(
    server_dsn: str, database: str, role: str
) -> None:
    dsn = make_conninfo(server_dsn, dbname=database, user=role)
    with connect(dsn) as conn:
        with pytest.raises(DatabaseError) as caught:
            ensure_vector(conn)
        assert conn.execute("SELECT 1").fetchone() == (1,)
    assert str(caught.value).endswith("have an administrator run in it: CREATE EXTENSION vector")
    administer(make_conninfo(server_dsn, dbname=database), "CREATE SCHEMA elsewhere")
    administer(
        make_conninfo(server_dsn, dbname=database), "CREATE EXTENSION vector SCHEMA elsewhere"
    )
    grant = f'GRANT USAGE ON SCHEMA "elsewhere" TO "{role}"'
    with connect(dsn) as conn, pytest.raises(DatabaseError, match=f"run in it: {grant}$"):
        ensure_vector(conn)
    administer(make_conninfo(server_dsn, dbname=database), grant)
    with connect(dsn) as conn:
        assert ensure_vector(conn).schema == "elsewhere"


# -- settings of the server, the role and the shell ----------------------------------------------

ODD = {
    "IntervalStyle": "iso_8601",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "client_encoding": "LATIN1",
    "TimeZone": "Asia/Kathmandu",
}
VALUES = (
    "SELECT '2026-03-01 12:00:00.5+00'::timestamptz, %s::timestamptz, '2026-03-04'::date,"
    " '26:00:01'::interval, '\\x00ff'::bytea, 0.1::float8 + 0.2::float8, 'a\\b', %s::text"
)
MOMENT = datetime(2026, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)
EXPECTED = (
    *(MOMENT, MOMENT, date(2026, 3, 4), timedelta(hours=26, seconds=1)),
    *(b"\x00\xff", 0.1 + 0.2, "a\\b", "日本 é 🦊"),
)


def values_of(conn: psycopg.Connection[TupleRow]) -> object:
    return conn.execute(VALUES, (MOMENT, EXPECTED[-1])).fetchone()


@pytest.mark.parametrize(("of", "date_style"), [("database", "German"), ("role", "SQL, DMY")])
def test_no_setting_of_a_database_or_a_role_changes_what_is_read(
    server_dsn: str, database: str, role: str, of: str, date_style: str
) -> None:
    admin = make_conninfo(server_dsn, dbname=database)

    def odd(name: str, value: str) -> None:
        owner = database if of == "database" else role
        administer(admin, f"ALTER {of} {owner} SET {name} TO '{value}'")

    for name, value in {**ODD, "DateStyle": date_style}.items():
        odd(name, value)
    administer(admin, f"GRANT CREATE ON DATABASE {database} TO {role}")
    dsn = make_conninfo(server_dsn, dbname=database, user=role)
    for autocommit in (True, False):
        with connect(dsn, autocommit=autocommit) as conn:
            assert conn.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            assert values_of(conn) == EXPECTED
            conn.rollback()
    odd("extra_float_digits", "-15")
    administer(admin, "CREATE EXTENSION vector")
    with open_store(dsn, "odd", create=True) as store:
        assert store.run(values_of) == EXPECTED
        assert store.row("SELECT '0001-01-01 00:00+00'::timestamptz") == (
            datetime(1, 1, 1, tzinfo=UTC),
        )


SHELL = {
    "PGOPTIONS": "-c datestyle=SQL,DMY -c intervalstyle=iso_8601 -c extra_float_digits=0",
    "PGCLIENTENCODING": "LATIN1",
    "PGTZ": "Asia/Kathmandu",
}


def test_no_setting_of_the_shell_changes_what_is_read(
    tcp_server_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = conninfo_to_dict(tcp_server_dsn)
    names = ("host", "port", "user", "password", "dbname")
    dsn = make_conninfo("", **{name: known[name] for name in names})
    for name, value in SHELL.items():
        monkeypatch.setenv(name, value)
    with open_store(dsn, "of-shell", create=True) as store:
        assert store.run(values_of) == EXPECTED
        drop_collection(store.dsn, store.collection)


def test_a_pooler_keeps_the_settings_of_each_client(
    pooled_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATESTYLE", "German")
    with open_store(pooled_dsn, "behind-german", create=True, max_size=6) as store:
        with ThreadPoolExecutor(6) as threads:
            found = threads.map(lambda _: store.run(values_of), range(100))
            assert set(found) == {EXPECTED}
        drop_collection(store.dsn, store.collection)


# -- doing it again ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "times"),
    [("40001", 3), ("08006", 3), ("42501", 1), ("57014", 1)],
)
def test_only_passing_errors_are_retried(
    server_dsn: str, state: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ATTEMPTS", 3)
    monkeypatch.setattr(connection, "PAUSE_S", 0.001)
    calls = []

    def work() -> None:
        calls.append(1)
        with psycopg.connect(server_dsn) as conn:
            conn.execute(f"DO $$ BEGIN RAISE 'no' USING ERRCODE = '{state}'; END $$".encode())

    with pytest.raises(psycopg.Error) as caught:
        retrying(work)
    assert caught.value.sqlstate == state
    assert len(calls) == times


def test_a_pool_outlives_its_killed_server_with_nothing_lost(own_server: Server) -> None:
    with open_pool(own_server.dsn) as pool:

        def add(number: int) -> None:
            with pool.connection() as conn:
                conn.execute("INSERT INTO kept VALUES (%s) ON CONFLICT DO NOTHING", [number])

        with pool.connection() as conn:
            conn.execute("CREATE TABLE kept (n int PRIMARY KEY)")
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda n: retrying(lambda: add(n)), range(100)))
            kill_postmaster(own_server)
            list(threads.map(lambda n: retrying(lambda: add(n)), range(100, 200)))
            future = [threads.submit(retrying, lambda n=n: add(n)) for n in range(200, 400)]
            kill_postmaster(own_server)
            for one in future:
                one.result()
        kill_postmaster(own_server)
        began = time.monotonic()

        def count() -> object:
            with pool.connection() as conn:
                return conn.execute("SELECT count(*) FROM kept").fetchone()

        assert retrying(count) == (400,)
        assert time.monotonic() - began < 10


def test_a_single_connection_also_starts_the_killed_server_again(own_server: Server) -> None:
    kill_postmaster(own_server)
    with connect(own_server.dsn) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_released_server_is_not_started_again(own_server: Server) -> None:
    own_server.release()
    with pytest.raises(DatabaseError) as refused:
        connect(own_server.dsn)
    assert refused.value.kind == "no_server"
    assert in_use(own_server.cluster.directory) is None


def test_no_dead_connection_is_handed_out(server_dsn: str, database: str) -> None:
    dsn = make_conninfo(server_dsn, dbname=database)
    with open_pool(dsn, max_size=4) as pool:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: asked(pool, 0.1), range(4)))
        with psycopg.connect(server_dsn, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [database],
            )
        time.sleep(0.1)
        began = time.monotonic()
        for _ in range(8):
            with pool.connection() as conn:
                assert conn.execute("SELECT 1").fetchone() == (1,)
        assert time.monotonic() - began < 5


# -- the pool ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pooler", "prepared"), [(False, True), (True, False)])
def test_prepared_statements_only_without_a_pooler(
    server_dsn: str, pooler: bool, prepared: bool
) -> None:
    with open_pool(server_dsn, pooler=pooler, max_size=1) as pool, pool.connection() as conn:
        for number in range(10):
            conn.execute("SELECT %s::int", [number])
        row = conn.execute("SELECT count(*) > 0 FROM pg_prepared_statements").fetchone()
        assert row == (prepared,)


def test_a_busy_pool_says_so(server_dsn: str) -> None:
    with open_pool(server_dsn, max_size=1) as pool, pool.connection():
        with pytest.raises(DatabaseError) as caught, explained(server_dsn), pool.connection(0.1):
            pass
        assert caught.value.kind == "busy"
    with pytest.raises(DatabaseError) as caught, explained(server_dsn), pool.connection():
        pass
    assert caught.value.kind == "closed"


# -- which server --------------------------------------------------------------------------------


def test_the_dsn_of_the_environment_comes_first(
    crosscorpus_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", " host=elsewhere ")
    assert resolve_dsn() == "host=elsewhere"
    assert list(crosscorpus_home.iterdir()) == []


def test_else_the_embedded_server_is_started_once_in_the_home(crosscorpus_home: Path) -> None:
    dsn = resolve_dsn()
    assert str(crosscorpus_home) in dsn
    assert resolve_dsn() == dsn
    server = in_use(crosscorpus_home / "postgres")
    assert server.release() is True


def test_variables_that_no_address_overrides_are_kept_away_too(
    own_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGSERVICE", "PGTZ", "PGDATESTYLE", "PGGEQO"):
        monkeypatch.setenv(name, "nonsense")
    with open_pool(own_server.dsn) as pool, pool.connection() as conn:
        assert conn.execute("SHOW timezone").fetchone() == ("UTC",)
    kill_postmaster(own_server)
    own_server.ensure()
    assert os.environ["PGTZ"] == "nonsense"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")
def test_roots_default_home_is_open_to_the_servers_account(
    monkeypatch: pytest.MonkeyPatch, crosscorpus_home: Path
) -> None:
    monkeypatch.delenv("CROSSCORPUS_HOME")
    closed = crosscorpus_home / "roots"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_DATA_HOME", str(closed))
    assert data_home() == Path("/var/lib/crosscorpus")
    closed.chmod(0o711)
    monkeypatch.setenv("XDG_DATA_HOME", str(closed / "now-open"))
    assert data_home() == closed / "now-open" / "crosscorpus"


@pytest.fixture
def pooled_dsn(tcp_server_dsn: str) -> Iterator[str]:
    with pooled(tcp_server_dsn) as dsn:
        yield dsn


def asked(pool: ConnectionPool[psycopg.Connection[TupleRow]], seconds: float) -> None:
    with pool.connection() as conn:
        conn.execute("SELECT pg_sleep(%s)", (seconds,))


def test_a_pooler_is_noticed_and_a_server_is_none(pooled_dsn: str, server_dsn: str) -> None:
    for dsn, behind in ((pooled_dsn, True), (server_dsn, False)):
        with connect(dsn) as conn:
            assert is_pooled(conn) is behind


def test_questions_go_to_the_replica_and_nothing_is_written_for_want_of_a_primary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", "host=primary")
    monkeypatch.delenv("CROSSCORPUS_READ_DSN", raising=False)
    assert resolve_dsn(reading=True) == resolve_dsn() == "host=primary"
    monkeypatch.setenv("CROSSCORPUS_READ_DSN", " host=replica ")
    assert (resolve_dsn(reading=True), resolve_dsn()) == ("host=replica", "host=primary")
    monkeypatch.delenv("CROSSCORPUS_DSN")
    assert resolve_dsn(reading=True) == "host=replica"
    with pytest.raises(DatabaseError, match="set CROSSCORPUS_DSN"):
        resolve_dsn()
