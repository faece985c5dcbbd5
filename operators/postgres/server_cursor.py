"""Rows read piece by piece, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from psycopg.rows import TupleRow

from operators.postgres.store import Connection, Store

ROWS_AT_ONCE = 1_000

T = TypeVar("T")


def over_rows(
    store: Store, statement: str, values: Sequence[Any], work: Callable[[Iterator[TupleRow]], T]
) -> T:
    """``work`` over the rows of ``statement``, of which ``ROWS_AT_ONCE`` are in memory.

    Done again from the first row when the connection was lost: ``work`` may begin several times.

    Raises:
        DatabaseError: what the server said, in one line.
    """

    def attempt(conn: Connection) -> T:
        with conn.cursor(name="rows") as cursor:
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(statement, values)
            return work(iter(cursor))

    return store.run(attempt)
