from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from operators.errors import CrosscorpusError
from operators.foundation.data_dir import data_home
from operators.postgres.connection import connect, ensure_vector, open_pool, resolve_dsn, retrying
from operators.postgres.errors import DatabaseError, explain, explained, is_transient, masked
from operators.postgres.server.embedded_server import Server, ServerError, in_use, start

SECRET = "geh3im-wort"


@pytest.fixture
def database(server_dsn: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database of the test's own; gives its name."""
    name = f"t_{abs(hash(request.node.nodeid)) % 10**9}"
    with psycopg.connect(server_dsn, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield name
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def role(server_dsn: str, database: str) -> Iterator[str]:
    """An ordinary role with a password, that may log in and do no more; gives its name."""
    name = f"{database}_role"
    with psycopg.connect(make_conninfo(server_dsn, dbname=database), autocommit=True) as conn:
        conn.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(name), SECRET)
        )
        yield name
        conn.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(name)))
        conn.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def own_server(crosscorpus_home: Path) -> Server:
    """A server that a test may kill."""
    return start(crosscorpus_home / "postgres")


def administer(dsn: str, query: str, *names: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(sql.SQL(query).format(*map(sql.Identifier, names)))


def refusal(dsn: str) -> DatabaseError:
    """Why there is no connection: one line without the secret."""
    with pytest.raises(DatabaseError) as caught:
        connect(dsn)
    text = str(caught.value)
    assert "\n" not in text
    assert SECRET not in text
    assert SECRET not in repr(caught.value.__cause__)
    return caught.value


def failure(dsn: str, query: str) -> DatabaseError:
    """What a failing statement is explained as."""
    with psycopg.connect(dsn) as conn, pytest.raises(psycopg.Error) as caught:
        conn.execute(query.encode())
    found = explain(caught.value, dsn)
    assert isinstance(found, DatabaseError)
    assert "\n" not in str(found)
    assert SECRET not in str(found)
    return found


def kill_postmaster(server: Server) -> None:
    running = server.cluster.running()
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)


# -- what went wrong, in one line ----------------------------------------------------------------


def test_a_closed_port_says_where_nothing_answers_and_what_to_do() -> None:
    found = refusal(f"postgresql://me:{SECRET}@127.0.0.1:1/db")
    assert found.kind == "no_server"
    assert "no Postgres answers at 127.0.0.1:1: start it or correct CROSSCORPUS_DSN" in str(found)


def test_an_unknown_host_and_an_absent_socket_are_no_server() -> None:
    assert refusal(f"host=nowhere.invalid password={SECRET}").kind == "no_server"
    assert refusal("host=/nonexistent").kind == "no_server"


def test_a_wrong_password_names_server_and_user(tcp_server_dsn: str, role: str) -> None:
    found = refusal(make_conninfo(tcp_server_dsn, user=role, password=SECRET + "x"))
    assert found.kind == "refused"
    assert f'password authentication failed for user "{role}"' in str(found)
    without = make_conninfo(tcp_server_dsn, user=role, password="")
    assert refusal(without).kind == "refused"


def test_a_missing_database_is_named(tcp_server_dsn: str) -> None:
    found = refusal(make_conninfo(tcp_server_dsn, dbname="nosuch"))
    assert found.kind == "refused"
    assert 'database "nosuch" does not exist' in str(found)


def test_a_missing_role_is_named(server_dsn: str, role: str) -> None:
    found = refusal(make_conninfo(server_dsn, user="nosuch"))
    assert found.kind == "refused"
    assert 'role "nosuch" does not exist' in str(found)
    administer(server_dsn, "ALTER ROLE {} NOLOGIN", role)
    assert refusal(make_conninfo(server_dsn, user=role)).kind == "refused"


def test_a_server_without_tls_is_told_from_no_server(tcp_server_dsn: str) -> None:
    assert refusal(make_conninfo(tcp_server_dsn, sslmode="require")).kind == "refused"


@pytest.mark.parametrize(
    "said",
    [
        "server does not support SSL, but SSL was required",
        "SSL error: certificate verify failed",
        'server certificate for "db" does not match host name "db2"',
        'root certificate file "/root.crt" does not exist',
        'certificate present, but not private key file "/key"',
        "SSL error: tlsv13 alert certificate required",
        "SSL error: wrong version number",
        "SSL connection is required. Please specify SSL options and retry.",
        "channel binding required, but SSL not in use",
        'weak sslmode "prefer" may not be used with sslrootcert=system',
        'sslmode value "require" invalid when SSL support is not compiled in',
    ],
)
def test_tls_that_is_set_up_wrongly_says_what_to_correct_and_stays(said: str) -> None:
    error = psycopg.OperationalError(f'connection to server at "db", port 5432 failed: {said}')
    found = explain(error, "host=db")
    assert isinstance(found, DatabaseError)
    assert found.kind == "refused"
    assert said in str(found)
    assert not is_transient(error)


@pytest.mark.parametrize(
    "said",
    [
        "consuming input failed: SSL connection has been closed unexpectedly",
        "consuming input failed: SSL SYSCALL error: EOF detected",
        "consuming input failed: SSL error: unexpected eof while reading",
        "sending query failed: SSL SYSCALL error: Connection reset by peer",
        "consuming input failed: SSL SYSCALL error: Connection timed out",
        "consuming input failed: SSL error: decryption failed or bad record mac",
    ],
)
def test_a_tls_connection_that_was_lost_is_made_again(said: str) -> None:
    error = psycopg.OperationalError(said)
    assert is_transient(error)
    found = explain(error, "host=db")
    assert isinstance(found, DatabaseError)
    assert found.kind == "no_server"


def test_a_rejected_address_needs_an_administrator(
    embedded_server: Server, server_dsn: str, tcp_server_dsn: str, database: str
) -> None:
    rules = embedded_server.cluster.data / "pg_hba.conf"
    before = rules.read_text()
    try:
        rules.write_text(f"host {database} all 127.0.0.1/32 reject\n{before}")
        administer(server_dsn, "SELECT pg_reload_conf()")
        time.sleep(0.3)
        found = refusal(make_conninfo(tcp_server_dsn, dbname=database))
    finally:
        rules.write_text(before)
        administer(server_dsn, "SELECT pg_reload_conf()")
    assert found.kind == "refused"
    assert "pg_hba.conf" in str(found)


def test_a_closed_database_names_the_privilege(server_dsn: str, database: str, role: str) -> None:
    administer(server_dsn, "REVOKE CONNECT ON DATABASE {} FROM PUBLIC", database)
    found = refusal(make_conninfo(server_dsn, dbname=database, user=role))
    assert found.kind == "not_allowed"
    assert "permission denied for database" in str(found)


def test_too_many_connections_are_named(server_dsn: str, role: str) -> None:
    administer(server_dsn, "ALTER ROLE {} CONNECTION LIMIT 1", role)
    dsn = make_conninfo(server_dsn, user=role)
    with psycopg.connect(dsn):
        assert "too many connections for role" in str(refusal(dsn))


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://me:{SECRET} and more@host/db",
        f"host=h passwrd={SECRET}",
        f"{SECRET}",
        f"postgresql://me@h/db?{SECRET}=1",
    ],
)
def test_an_unreadable_dsn_is_never_repeated(dsn: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        open_pool(dsn)
    assert caught.value.kind == "bad_dsn"
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert SECRET not in masked(dsn)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me@127.0.0.1:abc/db",
        "postgresql://me@127.0.0.1:99999/db",
        "postgresql://me@127.0.0.1/db?connect_timeout=abc",
        "postgresql://me@127.0.0.1:1/db?target_session_attrs=abc",
        f"postgresql://127.0.0.1:{SECRET}/more@host/db",
        f"postgresql://localhost:{SECRET}/more@host/db",
    ],
)
def test_an_address_with_an_impossible_port_or_option_says_how_one_is_written(dsn: str) -> None:
    with pytest.raises(DatabaseError, match=r"CROSSCORPUS_DSN has a port, .*write it as") as caught:
        connect(dsn)
    assert caught.value.kind == "bad_dsn"
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_mask_shows_server_and_database_only() -> None:
    assert masked(f"postgresql://me:{SECRET}@db.example:5433/app") == "db.example:5433/app"
    assert masked("host=/run/x dbname=app") == "/run/x/app"


def test_a_role_that_may_not_write_is_told_that_searching_works(
    server_dsn: str, database: str, role: str
) -> None:
    dsn = make_conninfo(server_dsn, dbname=database, user=role)
    administer(server_dsn, "ALTER ROLE {} SET default_transaction_read_only = on", role)
    found = failure(dsn, "CREATE TABLE t ()")
    assert found.kind == "not_allowed"
    assert f"user {role} lacks a privilege in database {database}" in str(found)
    assert "read-only transaction" in str(found)


def test_a_missing_privilege_is_named(server_dsn: str, database: str, role: str) -> None:
    dsn = make_conninfo(server_dsn, dbname=database, user=role)
    administer(make_conninfo(server_dsn, dbname=database), "CREATE TABLE theirs ()")
    found = failure(dsn, "SELECT FROM theirs")
    assert found.kind == "not_allowed"
    assert "permission denied for table theirs" in str(found)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT '[1,2]'::vector",
        "SELECT '[1,2]'::halfvec(2)",
        "CREATE TABLE t (v sparsevec(3))",
        "SELECT '[1]'::text <=> '[1]'::text",
    ],
)
def test_vectors_without_the_extension_print_the_command(
    server_dsn: str, database: str, query: str
) -> None:
    found = failure(make_conninfo(server_dsn, dbname=database), query)
    assert found.kind == "missing_extension"
    assert str(found).endswith("and run in it: CREATE EXTENSION vector")


def test_vectors_of_another_length_say_that_the_model_differs(
    server_dsn: str, database: str
) -> None:
    dsn = make_conninfo(server_dsn, dbname=database)
    with psycopg.connect(dsn) as conn:
        ensure_vector(conn)
        conn.execute("CREATE TABLE v (a vector(3), b halfvec)")
        conn.execute("INSERT INTO v VALUES ('[1,2,3]', '[1,2,3]')")
    found = failure(dsn, "INSERT INTO v (a) VALUES ('[1,2]')")
    assert found.kind == "wrong_dimension"
    assert "expected 3 dimensions, not 2" in str(found)
    assert failure(dsn, "SELECT b <=> '[1,2]' FROM v").kind == "wrong_dimension"


def test_an_extension_that_the_server_lacks_is_to_be_installed_there(server_dsn: str) -> None:
    found = failure(server_dsn, "CREATE EXTENSION nosuch")
    assert found.kind == "missing_extension"
    assert "package postgresql-NN-pgvector" in str(found)


def test_a_statement_over_its_time_is_named(server_dsn: str) -> None:
    with psycopg.connect(server_dsn) as conn:
        conn.execute("SET LOCAL statement_timeout = 20")
        with pytest.raises(DatabaseError) as caught, explained(server_dsn):
            conn.execute("SELECT pg_sleep(5)")
    assert caught.value.kind == "timed_out"


def test_other_errors_keep_the_servers_line_without_the_secret(server_dsn: str) -> None:
    dsn = make_conninfo(server_dsn, password=SECRET)
    with psycopg.connect(server_dsn) as conn, pytest.raises(psycopg.Error) as caught:
        conn.execute(f"SELECT '{SECRET}'::int".encode())
    found = explain(caught.value, dsn)
    assert "invalid input syntax for type integer" in str(found)
    assert SECRET not in str(found)


def test_our_own_errors_pass_unchanged() -> None:
    error = CrosscorpusError("as it is")
    assert explain(error, "host=h") is error


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


def test_an_extension_too_old_gets_the_command_too(server_dsn: str, database: str) -> None:
    with connect(make_conninfo(server_dsn, dbname=database)) as conn:
        ensure_vector(conn)
        conn.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
        with pytest.raises(DatabaseError, match="run in it: ALTER EXTENSION vector UPDATE"):
            ensure_vector(conn)


# -- doing it again ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "times"),
    [
        ("40001", 3),
        ("40P01", 3),
        ("57P01", 3),
        ("57P03", 3),
        ("08006", 3),
        ("42501", 1),
        ("57014", 1),
        ("53100", 1),
        ("25006", 1),
    ],
)
def test_only_passing_errors_are_retried(server_dsn: str, state: str, times: int) -> None:
    calls = []

    def work() -> None:
        calls.append(1)
        with psycopg.connect(server_dsn) as conn:
            conn.execute(f"DO $$ BEGIN RAISE 'no' USING ERRCODE = '{state}'; END $$".encode())

    with pytest.raises(psycopg.Error) as caught:
        retrying(work, attempts=3, pause_s=0.001)
    assert caught.value.sqlstate == state
    assert len(calls) == times


def test_a_refused_password_is_not_tried_again(tcp_server_dsn: str) -> None:
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(make_conninfo(tcp_server_dsn, password="wrong"))
    assert caught.value.sqlstate is None
    assert not is_transient(caught.value)


def test_a_serialization_conflict_is_overcome_by_retrying(server_dsn: str, database: str) -> None:
    pool = open_pool(make_conninfo(server_dsn, dbname=database))
    with pool, pool.connection() as conn:
        conn.execute("CREATE TABLE counter AS SELECT 0 AS n")
        conn.commit()

        def add(_: int) -> None:
            def work() -> None:
                with pool.connection() as conn:
                    conn.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                    conn.execute("SELECT n, pg_sleep(0.01) FROM counter")
                    conn.execute("UPDATE counter SET n = n + 1")

            retrying(work, attempts=20, pause_s=0.001)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(add, range(12)))
        assert conn.execute("SELECT n FROM counter").fetchone() == (12,)


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


def test_a_pool_outlives_a_killed_backend(own_server: Server) -> None:
    with open_pool(own_server.dsn) as pool:

        def backend() -> int:
            with pool.connection() as conn:
                conn.execute("SELECT pg_sleep(0.05)")
                return conn.info.backend_pid

        for _ in range(3):
            killed = retrying(backend)
            os.kill(killed, signal.SIGKILL)
            assert retrying(backend) != killed


def test_a_single_connection_also_starts_the_killed_server_again(own_server: Server) -> None:
    kill_postmaster(own_server)
    with connect(own_server.dsn) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_released_server_is_not_started_again(own_server: Server) -> None:
    own_server.release()
    assert refusal(own_server.dsn).kind == "no_server"
    assert in_use(own_server.cluster.directory) is None


def test_no_dead_connection_is_handed_out(server_dsn: str, database: str) -> None:
    dsn = make_conninfo(server_dsn, dbname=database)
    with open_pool(dsn, max_size=4) as pool:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: _sleep(pool), range(4)))
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


def _sleep(pool: ConnectionPool[psycopg.Connection[TupleRow]]) -> None:
    with pool.connection() as conn:
        conn.execute("SELECT pg_sleep(0.1)")


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


def test_a_pooled_connection_carries_no_session_setting(server_dsn: str) -> None:
    with open_pool(server_dsn, pooler=True) as pool, pool.connection() as conn:
        rows = conn.execute("SELECT name FROM pg_settings WHERE source = 'session'").fetchall()
        assert rows == []


def test_a_busy_pool_says_so(server_dsn: str) -> None:
    with open_pool(server_dsn, max_size=1, timeout_s=0.1) as pool, pool.connection():
        with pytest.raises(DatabaseError) as caught, explained(server_dsn), pool.connection():
            pass
        assert caught.value.kind == "busy"
    with pytest.raises(DatabaseError) as caught, explained(server_dsn), pool.connection():
        pass
    assert caught.value.kind == "closed"


def test_an_unreachable_server_is_told_when_the_pool_opens() -> None:
    began = time.monotonic()
    with pytest.raises(DatabaseError, match="no Postgres answers"):
        open_pool("host=127.0.0.1 port=1")
    assert time.monotonic() - began < 5


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
    assert server is not None
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


def test_the_home_is_absolute_and_moves_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", "~/somewhere")
    assert data_home() == Path.home() / "somewhere"
    monkeypatch.setenv("CROSSCORPUS_HOME", "here")
    assert data_home() == Path.cwd() / "here"
    monkeypatch.delenv("CROSSCORPUS_HOME")
    assert data_home().is_absolute()
    assert data_home().name == "crosscorpus"


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


def test_a_server_that_cannot_run_says_what_to_do_from_here_too(
    crosscorpus_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (crosscorpus_home / "a-file").write_text("")
    monkeypatch.setenv("CROSSCORPUS_HOME", str(crosscorpus_home / "a-file"))
    with pytest.raises(ServerError, match="set CROSSCORPUS_HOME to a directory of your own"):
        resolve_dsn()
