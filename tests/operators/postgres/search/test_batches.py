from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector, SparseVector
from psycopg.conninfo import make_conninfo

from operators.postgres.errors import DatabaseError
from operators.postgres.search.batches import (
    SLICE,
    Deadline,
    SearchTimeout,
    fetch,
    run,
    run_slices,
)
from operators.postgres.store import Connection, Store, open_store


@pytest.fixture
def narrow(server_dsn: str, store: Store) -> Iterator[Store]:
    """The collection over one connection."""
    with open_store(server_dsn, store.collection, max_size=1) as one:
        yield one


@contextmanager
def busy(store: Store, seconds: float) -> Iterator[None]:
    """The store's one connection is taken for so long."""

    def hold() -> None:
        with store.transaction():
            taken.append(True)
            time.sleep(seconds)

    taken: list[bool] = []
    with ThreadPoolExecutor(1) as thread:
        thread.submit(hold)
        while not taken:
            time.sleep(0.001)
        yield


def napping(seconds: float) -> Callable[[Connection], str]:
    def work(conn: Connection) -> str:
        conn.execute("SELECT pg_sleep(%s)", (seconds,))
        row = conn.execute("SELECT current_setting('statement_timeout')").fetchone()
        return str(row and row[0])

    return work


def test_the_wait_for_a_connection_is_part_of_a_searchs_time(narrow: Store) -> None:
    with busy(narrow, 0.6), pytest.raises(SearchTimeout, match="the search took longer than 1 s"):
        run(narrow, Deadline.after(1.0, "the search"), napping(0.8))
    with busy(narrow, 0.6), pytest.raises(SearchTimeout):
        run(narrow, Deadline.after(0.2, "the search"), napping(0.0))


def test_a_search_after_a_wait_has_what_is_left_and_without_a_limit_all_it_needs(
    narrow: Store,
) -> None:
    with busy(narrow, 0.3):
        left = run(narrow, Deadline.after(30.0, "the search"), napping(0.0))
    assert left.endswith("ms")
    assert 20_000 < int(left.removesuffix("ms")) <= 29_900
    assert run(narrow, Deadline.after(None, "the search"), napping(0.0)) == "0"


def test_searches_that_hang_in_many_slices_leave_connections_to_others(
    server_dsn: str, store: Store
) -> None:
    running, let_go = threading.Semaphore(0), threading.Event()

    def hang(conn: Connection, item: int) -> list[int]:
        running.release()
        let_go.wait(30.0)
        return [item]

    items = range(8 * SLICE)
    with open_store(server_dsn, store.collection, max_size=8) as own, ThreadPoolExecutor(4) as four:
        never = Deadline.after(None, "the search")
        hung = [four.submit(run_slices, own, never, items, hang) for _ in range(4)]
        try:
            assert all(running.acquire(timeout=30.0) for _ in range(6))
            assert run(own, Deadline.after(5.0, "the search"), napping(0.0))
        finally:
            let_go.set()
        assert [one.result() for one in hung] == [list(items)] * 4
        assert run_slices(own, never, items, hang) == list(items)


def arrived(conn: Connection, kind: str, values: Sequence[HalfVector | SparseVector]) -> list[str]:
    statement = f"SELECT %(value)s::{kind}::text"
    return [fetch(conn, statement, {"value": value})[0][0] for value in values]


def test_vectors_arrive_as_the_server_reads_their_decimal_text(store: Store) -> None:
    random_ = np.random.default_rng(8)
    halves = random_.normal(size=(9, 4_000)) * 2.0 ** random_.integers(-30, 14, size=(9, 4_000))
    sparse = [dict(enumerate(random_.random(500) * 2.0**n, start=n)) for n in range(-9, 9)]
    given = {
        "halfvec": [HalfVector(row) for row in halves.astype(np.float32)],
        "sparsevec": [SparseVector({abs(n): w for n, w in row.items()}, 10**9) for row in sparse],
    }
    decimal = {
        "halfvec": [str(row.tolist()) for row in halves.astype(np.float32)],
        "sparsevec": [vector.to_text() for vector in given["sparsevec"]],
    }
    for kind, values in given.items():
        with store.transaction() as conn:
            read = f"SELECT v::{kind}::text FROM unnest(%(texts)s::text[]) AS v"
            expected = [text for (text,) in fetch(conn, read, {"texts": decimal[kind]})]
            assert arrived(conn, kind, values) == expected


def test_a_prepared_search_outlives_a_new_creation_of_pgvector(
    server_dsn: str, database: str
) -> None:
    dsn = make_conninfo(server_dsn, dbname=database)
    with open_store(dsn, create=True, max_size=1) as one, psycopg.connect(dsn) as admin:

        def search() -> list[str]:
            return run(
                one,
                Deadline.after(None, "the search"),
                lambda conn: arrived(conn, "halfvec", [HalfVector([1.0, 2.0])]),
            )

        for _ in range(7):  # psycopg prepares a statement that comes so often
            assert search() == ["[1,2]"]
        admin.execute("DROP EXTENSION vector CASCADE; CREATE EXTENSION vector")
        admin.commit()
        assert search() == ["[1,2]"]
        admin.execute("DROP EXTENSION vector CASCADE")
        admin.commit()
        with pytest.raises(DatabaseError, match="CREATE EXTENSION vector"):
            search()
