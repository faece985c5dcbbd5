from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from operators.postgres import replication
from operators.postgres.errors import DatabaseError
from operators.postgres.replication import lateness, notes
from operators.postgres.store import Home, Store, drop_collection, open_store

SOON_S = 0.3


@pytest.fixture
def replica(replicated: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A collection as the replica has it; a replica is late after a third of a second."""
    monkeypatch.setattr(replication, "LATE_S", SOON_S)
    open_store(replicated.primary, "late", create=True).close()
    replicated.catch_up()
    with open_store(replicated.replica, "late", max_size=2) as store:
        yield store
    replicated.catch_up()
    drop_collection(replicated.primary, "late")
    replicated.catch_up()


def write(
    replicated: Any, statement: str = "CREATE TABLE public.x (); DROP TABLE public.x"
) -> None:
    with psycopg.connect(replicated.primary) as conn:
        conn.execute(statement.encode())


def test_a_replica_that_has_all_is_not_late_however_long_its_primary_is_idle(
    replica: Store, replicated: Any
) -> None:
    time.sleep(2 * SOON_S)
    assert lateness(replica) is None
    write(replicated, f"CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA {replica.schema} TO reader;"
          f"GRANT SELECT ON ALL TABLES IN SCHEMA {replica.schema} TO reader")  # fmt: skip
    replicated.catch_up()
    time.sleep(2 * SOON_S)
    with open_store(make_conninfo(replicated.replica, user="reader"), "late") as store:
        assert lateness(store) is None
    write(replicated, "DROP OWNED BY reader; DROP ROLE reader")


def test_a_replica_that_has_not_replayed_what_it_received_is_late(
    replica: Store, replicated: Any, filling: Any
) -> None:
    replicated.pause()
    write(replicated)
    time.sleep(2 * SOON_S)
    asked = filling.queries([{}, {}])
    said = notes({"code": Home(replica, "code")}, asked)
    assert said["query_id"].to_list() == [0, 1]
    assert "what was ingested since is not found" in said["note"][0]
    replicated.catch_up()
    assert notes({"code": Home(replica, "code")}, asked).is_empty()


def test_a_replica_that_its_primary_does_not_reach_is_late(replica: Store, replicated: Any) -> None:
    where = replicated.follow("")
    try:
        deadline = time.monotonic() + 10
        while lateness(replica) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        replicated.follow(where)


def test_the_time_that_is_missing_is_told_with_what_to_do() -> None:
    late: Any = SimpleNamespace(replica=True, row=lambda _: (7500.0,))
    assert "up to 2 h 5 min behind" in str(lateness(late))
    assert "unset CROSSCORPUS_READ_DSN" in str(lateness(late))


def test_a_server_that_cannot_tell_is_no_error(replica: Store, monkeypatch: Any) -> None:
    monkeypatch.setattr(replication, "BEHIND", "SELECT pg_no_such_function()")
    assert "can't be told" in str(lateness(replica))


def test_a_primary_is_never_late(store: Store) -> None:
    assert not store.replica
    assert lateness(store) is None


def test_a_writer_that_was_left_at_a_standby_goes_to_the_new_primary(
    replicated: Any, tmp_path: Path
) -> None:
    servers = {
        of: Path(str(conninfo_to_dict(dsn)["host"]))
        for of, dsn in (("primary", replicated.primary), ("replica", replicated.replica))
    }
    address = tmp_path / "address"

    def lead_to(of: str) -> None:
        address.unlink(missing_ok=True)
        address.symlink_to(servers[of])

    lead_to("primary")
    dsn = make_conninfo(replicated.primary, host=str(address))
    with open_store(dsn, "moved", create=True, max_size=2) as store:
        replicated.catch_up()
        store.pool.wait()  # a connection that is being made would come after the others went
        lead_to("replica")
        store.pool.drain()  # as after a restart of the primary (gpustack/gpustack#6105)
        assert store.row("SELECT pg_is_in_recovery()") == (True,)
        with pytest.raises(DatabaseError, match="read-only transaction") as refused:
            store.execute("DELETE FROM chunks")
        assert refused.value.kind == "not_allowed"
        store.pool.wait()
        lead_to("primary")
        store.execute("DELETE FROM chunks")
    drop_collection(replicated.primary, "moved")
    replicated.catch_up()
