"""Reads rows in batches, so that memory does not grow with their number."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from psycopg.rows import TupleRow

from operators.postgres.store import Connection, Store

ROWS_AT_ONCE = 1_000

T = TypeVar("T")


def over_rows(
    store: Store, statement: str, values: Sequence[Any], work: Callable[[Iterator[TupleRow]], T]
) -> T:
    """Run ``work`` on the rows of ``statement``; ``ROWS_AT_ONCE`` of them are in memory.

    After a lost connection ``work`` is retried from the first row.

    Raises:
        DatabaseError: the server's error, in one line.
    """

    def attempt(conn: Connection) -> T:
        with conn.cursor(name="rows") as cursor:
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(statement, values)
            return work(iter(cursor))

    return store.run(attempt)
