"""Searches by vectors, and batches of searches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from vector_indexes import build_vector_indexes

from operators.errors import CrosscorpusError
from operators.frames import VECTOR_LISTS, check
from operators.postgres.schema import indexes
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search.batches import SLICE, Deadline, SearchTimeout, run, run_slices
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import Connection, Store, open_store
from operators.postgres.write.document_writer import write_documents

ROWS = 7_000
WIDTH = 32
K = 50
START = datetime(2024, 1, 1, tzinfo=UTC)
SHARES = {"tenth": 10, "hundredth": 100, "thousandth": 1_000}


class Clustered:
    """A corpus of clustered vectors with an index, where repos hold 10 %, 1 % and 0.1 % of it."""

    def __init__(self, store: Store, filling: Any) -> None:
        random_ = np.random.default_rng(42)
        centres = random_.normal(size=(100, WIDTH))
        noise = random_.normal(size=(ROWS, WIDTH))
        vectors = centres[random_.integers(0, 100, ROWS)] + 0.7 * noise
        self.vectors = vectors.astype(np.float16).astype(np.float32)
        self.repos = np.full(ROWS, "rest", dtype=object)
        free = random_.permutation(ROWS)
        for name, part in SHARES.items():
            self.repos[free[: ROWS // part]] = name
            free = free[ROWS // part :]
        chunks = filling.chunks(
            [
                {
                    "chunk_id": n,
                    "document_id": f"d{n // 10}",
                    "repo": self.repos[n],
                    "text": "t",
                    "created_at": START + timedelta(minutes=3 * n),
                    "embedding": self.vectors[n].tolist(),
                }
                for n in range(ROWS)
            ]
        )
        write_documents(store, filling.documents(chunks), chunks)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", ROWS - 1)
            make_searchable(store)
        self.store = store
        queries = centres[random_.integers(0, 100, 40)] + 0.7 * random_.normal(size=(40, WIDTH))
        self.queries = queries.astype(np.float16).astype(np.float32)

    def recall(self, found: pl.DataFrame, allowed: Any, k: int = K) -> float:
        """The mean share of the true ``k`` nearest of the ``allowed`` rows that were found."""
        ids = np.flatnonzero(allowed)
        unit = self.vectors[ids] / np.linalg.norm(self.vectors[ids], axis=1, keepdims=True)
        shares = []
        for number, query in enumerate(self.queries):
            distances = 1 - unit @ (query / np.linalg.norm(query))
            furthest = np.sort(distances)[min(k, len(ids)) - 1]
            mine = found.filter(pl.col("query_id") == number)
            assert len(mine) == min(k, len(ids)), "never fewer rows than exist"
            shares.append((mine["distance"] <= furthest + 1e-3).mean())
        return float(np.mean(shares))


@pytest.fixture(scope="session")
def clustered(make_store: Callable[..., Store], filling: Any) -> Clustered:
    return Clustered(make_store(WIDTH), filling)


@pytest.mark.parametrize("exact_scan_max_rows", [20_000, 20])
@pytest.mark.parametrize("repo", SHARES)
def test_a_filter_costs_no_recall(
    clustered: Clustered, filling: Any, repo: str, exact_scan_max_rows: int
) -> None:
    queries = filling.queries([{"repos": [repo]}] * 40)
    found = search_vectors(
        clustered.store,
        "code",
        queries,
        filling.embeddings(clustered.queries),
        k=K,
        exact_scan_max_rows=exact_scan_max_rows,
    )
    assert clustered.recall(found, clustered.repos == repo) >= 0.95


def test_an_unfiltered_index_scan_finds_the_nearest(clustered: Clustered, filling: Any) -> None:
    queries = filling.queries([{}] * 40)
    embeddings = filling.embeddings(clustered.queries)
    found = search_vectors(clustered.store, "code", queries, embeddings, k=K)
    assert clustered.recall(found, np.full(ROWS, True)) >= 0.95


def test_an_index_scan_that_comes_up_short_is_done_exactly(
    clustered: Clustered, filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.postgres.search.vector_search.MAX_SCAN_TUPLES", 1)
    queries = filling.queries([{"repos": ["thousandth"]}] * 40)
    embeddings = filling.embeddings(clustered.queries)
    found = search_vectors(clustered.store, "code", queries, embeddings, k=K, exact_scan_max_rows=5)
    assert clustered.recall(found, clustered.repos == "thousandth") == 1.0


def test_thousands_of_equal_vectors_hide_nothing_from_an_index_scan(
    store: Store, filling: Any
) -> None:
    apart = np.random.default_rng(3).normal(size=(200, 8))
    same = np.ones(8)
    rows = [
        {"chunk_id": n, "document_id": f"d{n}", "embedding": list(same if n >= 200 else apart[n])}
        for n in range(3_000)
    ]
    filling.write(store, rows)
    build_vector_indexes(store)
    queries = filling.queries([{}] * 200)
    found = search_vectors(
        store, "code", queries, filling.embeddings(apart), k=5, exact_scan_max_rows=10
    )
    first = found.filter(pl.col("rank") == 0).sort("query_id")["chunk_id"].to_list()
    assert first == list(range(200))


@pytest.mark.parametrize("exact_scan_max_rows", [ROWS, 20])
def test_a_batch_gives_what_each_query_gives_alone(
    clustered: Clustered, filling: Any, exact_scan_max_rows: int
) -> None:
    repos = [None, ["tenth"], ["thousandth", "hundredth"], ["nowhere"]]
    days = [None, 1, 3, 10]
    rows = [
        {
            "repos": repos[n % 4],
            "as_of": None if days[n % 3] is None else START + timedelta(days=days[n % 3] or 0),
        }
        for n in range(40)
    ]
    queries, embeddings = filling.queries(rows), filling.embeddings(clustered.queries)

    def search(part: slice) -> pl.DataFrame:
        return search_vectors(
            clustered.store,
            "code",
            queries[part],
            embeddings[part],
            k=20,
            exact_scan_max_rows=exact_scan_max_rows,
        )

    alone = pl.concat([search(slice(n, n + 1)) for n in range(40)])
    assert search(slice(0, 40)).equals(alone)


def test_lists_are_ordered_by_distance_then_chunk_id(store: Store, filling: Any) -> None:
    same = [1.0] * 8
    filling.write(store, [{"chunk_id": n, "embedding": same} for n in (5, 3, 9, 1)])
    found = search_vectors(
        store, "code", filling.queries([{}]), filling.embeddings([[2.0] * 8]), k=3
    )
    assert check(found, VECTOR_LISTS, "lists")["chunk_id"].to_list() == [1, 3, 5]
    assert found["distance"].to_list() == pytest.approx([0, 0, 0], abs=1e-6)


def test_a_zero_vector_is_the_furthest_and_still_counted(store: Store, filling: Any) -> None:
    filling.write(
        store, [{"chunk_id": 1, "embedding": [0.0] * 8}, {"chunk_id": 2, "embedding": [-1.0] * 8}]
    )
    build_vector_indexes(store)
    for exact_scan_max_rows in (0, 100):
        found = search_vectors(
            store,
            "code",
            filling.queries([{}]),
            filling.embeddings([[1.0] * 7 + [0.9]]),
            k=5,
            exact_scan_max_rows=exact_scan_max_rows,
        )
        assert found["chunk_id"].to_list() == [2, 1]


def test_vectors_of_another_dimension_are_a_clear_error(store: Store, filling: Any) -> None:
    filling.write(store, [{}])
    with pytest.raises(CrosscorpusError, match=r"4 dimensions.*'test' with 8"):
        search_vectors(store, "code", filling.queries([{}]), filling.embeddings([[1.0] * 4]), k=5)


def test_an_unknown_corpus_or_no_query_gives_no_rows(store: Store, filling: Any) -> None:
    filling.write(store, [{}])
    one = filling.embeddings([[1.0] * 8])
    assert search_vectors(store, "absent", filling.queries([{}]), one, k=5).is_empty()
    nothing = search_vectors(store, "code", filling.queries([]), one[:0], k=5)
    assert nothing.schema == VECTOR_LISTS


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
