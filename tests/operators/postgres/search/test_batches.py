from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from operators.postgres.search.batches import SLICE, Deadline, SearchTimeout, run, run_slices
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

    def hang(conn: Connection, part: Sequence[int]) -> list[int]:
        running.release()
        let_go.wait(30.0)
        return list(part)

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
