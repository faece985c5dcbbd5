"""Runs a batch of queries: in slices, over several connections, with one deadline.

A slice is many queries in one transaction, one statement each. The statement has no lateral join,
so that Citus can send it unchanged to every shard of a collection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from pgvector import HalfVector, SparseVector
from pgvector.psycopg.halfvec import HalfVectorBinaryDumper
from pgvector.psycopg.sparsevec import SparseVectorBinaryDumper

from operators.errors import CrosscorpusError
from operators.postgres.errors import DatabaseError
from operators.postgres.store import Connection, Store

SLICE = 64
"""Queries a transaction."""

# Each search is planned for its own values. It is short: JIT compilation or parallel workers cost
# more than they save.
SETTINGS = {
    "plan_cache_mode": "force_custom_plan",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "work_mem": "64MB",  # keeps a bitmap of candidates and an index scan in memory
}

Item = TypeVar("Item")
Row = TypeVar("Row")


class SearchTimeout(CrosscorpusError, TimeoutError):
    """A search exceeded its timeout."""


@dataclass(frozen=True)
class Deadline:
    """The time at which a search must have ended; None ``seconds``: no deadline."""

    what: str
    seconds: float | None
    at: float

    @classmethod
    def after(cls, seconds: float | None, what: str) -> Deadline:
        """A deadline ``seconds`` from now; the error's text names the search as ``what``."""
        return cls(what, seconds, time.monotonic() + (seconds or 0.0))

    def left(self) -> float | None:
        """Seconds left, or None for no limit.

        Raises:
            SearchTimeout: none are left.
        """
        if self.seconds is None:
            return None
        left = self.at - time.monotonic()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> SearchTimeout:
        """The error of a passed deadline."""
        return SearchTimeout(f"{self.what} took longer than {self.seconds:g} s (deadline_s)")


def run(
    store: Store,
    deadline: Deadline,
    work: Callable[[Connection], Row],
    settings: Mapping[str, str] | None = None,
) -> Row:
    """Run ``work`` in one transaction that ends by ``deadline``; retry after a lost connection.

    Raises:
        SearchTimeout: the deadline passed, here or on the server.
        DatabaseError: any other error of the server, in one line.
    """

    def limited() -> dict[str, str]:
        left = deadline.left()
        limits = {} if left is None else {"statement_timeout": str(max(1, int(left * 1000)))}
        return {**SETTINGS, **limits, **(settings or {})}

    try:
        return store.run(work, limited, deadline.left)
    except DatabaseError as error:
        if deadline.seconds is not None and error.kind in {"timed_out", "busy"}:
            raise deadline.passed() from error
        raise


def run_slices(
    store: Store,
    deadline: Deadline,
    items: Sequence[Item],
    work: Callable[[Connection, Item], list[Row]],
    settings: Mapping[str, str] | None = None,
) -> list[Row]:
    """The rows of ``work`` on each of ``items``, in slices, run in parallel on spare connections.

    Only a few connections are spare, so that slow searches with many slices cannot hold all.
    """
    slices = [items[start : start + SLICE] for start in range(0, len(items), SLICE)]

    def one(part: Sequence[Item]) -> list[Row]:
        def each(conn: Connection) -> list[Row]:
            return [row for item in part for row in work(conn, item)]

        return run(store, deadline, each, settings)

    if len(slices) <= 1:
        return [row for part in slices for row in one(part)]
    spare, taken = store.pool.spare, 0
    while taken < len(slices) - 1 and spare.acquire(blocking=False):
        taken += 1
    try:
        with ThreadPoolExecutor(1 + taken) as threads:
            return [row for rows in threads.map(one, slices) for row in rows]
    finally:
        for _ in range(taken):
            spare.release()


def fetch(conn: Connection, statement: str, parameters: dict[str, Any]) -> list[Any]:
    """All rows of ``statement``, sent in the binary format, pgvector's types too."""
    with conn.cursor(binary=True) as cursor:
        cursor.adapters.register_dumper(HalfVector, HalfVectorBinaryDumper)
        cursor.adapters.register_dumper(SparseVector, SparseVectorBinaryDumper)
        cursor.execute(statement, parameters)
        return cursor.fetchall()
