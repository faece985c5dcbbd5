from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from pgbouncer import pooled
from psycopg import sql
from psycopg.conninfo import make_conninfo

from operators.postgres.connection import connect, open_pool
from operators.postgres.errors import (
    DatabaseError,
    address_parts,
    explain,
    explained,
    is_transient,
    target,
    without_secrets,
)
from operators.postgres.store import open_store

SECRET = "geh3im-wort"


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


def test_a_server_without_tls_is_told_from_no_server(tcp_server_dsn: str) -> None:
    assert refusal(make_conninfo(tcp_server_dsn, sslmode="require")).kind == "refused"


AT = 'connection to server at "db", port 5432 failed: '


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (f"{AT}server does not support SSL, but SSL was required", "refused", "SSL was required"),
        (f"{AT}SSL error: certificate verify failed", "refused", "certificate verify failed"),
        ("consuming input failed: SSL connection has been closed unexpectedly", "no_server", ""),
        ("connection to the remote node a@10.0.0.7:5432 failed", "node_away", "its log says why"),
        ("failure on connection marked as essential: 10.0.0.7", "node_away", "its log says why"),
    ],
)
def test_tls_that_is_set_up_wrongly_and_a_node_that_is_away_are_no_lost_connection(
    said: str, kind: str, told: str
) -> None:
    error = psycopg.OperationalError(said)
    found = explain(error, "host=db")
    assert isinstance(found, DatabaseError)
    assert (found.kind, told in str(found)) == (kind, True)
    assert is_transient(error) is (kind == "no_server")


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


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me@127.0.0.1:abc/db",
        "postgresql://me@127.0.0.1/db?connect_timeout=abc",
        "postgresql://me@127.0.0.1:1/db?target_session_attrs=abc",
        f"postgresql://127.0.0.1:{SECRET}/more@host/db",
    ],
)
def test_an_address_with_an_impossible_port_or_option_says_how_one_is_written(dsn: str) -> None:
    with pytest.raises(DatabaseError, match=r"CROSSCORPUS_DSN (has|is) .*write it as") as caught:
        connect(dsn)
    assert caught.value.kind == "bad_dsn"
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_vectors_without_the_extension_print_the_command(server_dsn: str, database: str) -> None:
    found = failure(make_conninfo(server_dsn, dbname=database), "SELECT '[1,2]'::vector")
    assert found.kind == "missing_extension"
    assert str(found).endswith("and run in it: CREATE EXTENSION vector")


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


@pytest.mark.parametrize(
    "password",
    [
        *("Hunter@2#Secret", "Hunter/2@Secret", "12/Secret", "@Secret@"),
        *("Hunter@x:5@Secret", "Hunter@Secret?a=b", "Hunter%Secret", "12/S?ecret"),
    ],
)
@pytest.mark.parametrize("rest", ["127.0.0.1:1/x", "127.0.0.1/x?sslmode=disable"])
def test_no_part_of_a_password_with_bare_signs_is_shown_and_their_forms_are(
    password: str, rest: str
) -> None:
    dsn = f"postgresql://app:{password}@{rest}"
    for show in (lambda: connect(dsn), lambda: explaining(lambda: without_secrets(dsn), dsn)):
        with pytest.raises(DatabaseError) as caught:
            show()
        error, text = caught.value, str(caught.value)
        assert error.kind == "bad_dsn"
        assert error.__cause__ is None
        for part in ("Hunter", "Secret", "ecret", "12", "nter"):
            assert part not in text.replace("5432", "")
        assert "@ as %40, / as %2F" in text
        assert "# as %23" in text
    escaped = f"postgresql://app:{quote(password, safe='')}@{rest}"
    assert address_parts(escaped)["password"] == password


def explaining(work: Callable[[], object], dsn: str) -> None:
    with explained(dsn):
        work()


@pytest.mark.parametrize(
    ("dsn", "to"),
    [
        ("postgresql://app:a%40b%2Fc@[::1]:7/x", "::1:7"),
        ("postgres://me%40tenant:p#?w@h/x?user=a@b", "h:5432"),
        ("postgresql://%2Frun%2Fpg/db", "/run/pg"),
    ],
)
def test_an_address_that_libpq_reads_as_it_is_meant_is_shown(dsn: str, to: str) -> None:
    assert target(dsn) == to


def test_a_refused_password_is_not_tried_again(tcp_server_dsn: str) -> None:
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(make_conninfo(tcp_server_dsn, password="wrong"))
    assert caught.value.sqlstate is None
    assert not is_transient(caught.value)


def test_a_local_server_that_is_away_and_has_no_room_has_a_full_disk(small_disk: Path) -> None:
    dsn = make_conninfo("", host=str(small_disk), user="me", dbname="db")
    assert refusal(dsn).kind == "no_server"
    (small_disk / "filler").write_bytes(bytes(100 * 1024 * 1024))
    assert refusal(dsn).kind == "disk_full"


def test_what_cannot_be_reached_for_questions_is_told_by_its_own_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for dsn, said in [
        ("host=127.0.0.1 port=1", "correct CROSSCORPUS_READ_DSN; without CROSSCORPUS_READ_DSN the"),
        ("host=127.0.0.1 port=no", "CROSSCORPUS_READ_DSN has a port"),
        ("nonsense", "CROSSCORPUS_READ_DSN is not a Postgres address"),
    ]:
        monkeypatch.setenv("CROSSCORPUS_READ_DSN", dsn)
        assert said in str(refusal(dsn))
        monkeypatch.setenv("CROSSCORPUS_READ_DSN", "host=elsewhere")
        assert "CROSSCORPUS_READ_DSN" not in str(refusal(dsn))


def test_who_writes_to_a_replica_is_told_to_name_the_primary(replicated: Any) -> None:
    assert "name the primary in CROSSCORPUS_DSN" in str(
        failure(replicated.replica, "CREATE TABLE t ()")
    )


def test_an_error_crosses_processes() -> None:
    error = pickle.loads(pickle.dumps(DatabaseError("busy", "one line")))
    assert (error.kind, str(error)) == ("busy", "one line")


# -- a pooler's own refusals -------------------------------------------------------------------


def test_a_pooler_that_takes_no_options_says_which_to_leave_out(tcp_server_dsn: str) -> None:
    # https://github.com/PostHog/posthog/pull/64015, https://github.com/pgbouncer/pgbouncer/issues/875
    with pooled(tcp_server_dsn) as dsn:
        found = refusal(make_conninfo(dsn, options="-csearch_path=public"))
    assert found.kind == "pooler"
    assert "leave `options` out of CROSSCORPUS_DSN and unset PGOPTIONS" in str(found)
    assert is_transient(found.__cause__ or found) is False


def test_a_pooler_or_a_server_without_a_free_connection_is_busy(
    tcp_server_dsn: str, server_dsn: str, role: str
) -> None:
    # https://github.com/supabase/vecs/issues/77, https://github.com/prisma/orm/issues/15334
    with pooled(tcp_server_dsn, max_client_conn="1") as dsn, connect(dsn):
        found = refusal(dsn)
    assert found.kind == "busy"
    assert "has no connection left (no more connections allowed (max_client_conn))" in str(found)
    one = {"default_pool_size": "1", "query_wait_timeout": "1"}
    with pooled(tcp_server_dsn, **one) as dsn, connect(dsn) as conn:
        conn.execute("SELECT 1")
        with pytest.raises(DatabaseError, match="query_wait_timeout") as waited:
            open_store(dsn, "nosuch")
    assert waited.value.kind == "busy"
    with psycopg.connect(server_dsn) as conn:
        conn.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 0").format(sql.Identifier(role)))
    assert refusal(make_conninfo(server_dsn, user=role)).kind == "busy"
