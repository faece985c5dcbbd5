"""Writes many rows at once: by binary COPY, or by one INSERT with a conflict clause.

psycopg encodes the rows, the package pgvector the bytes of a vector. These are sent as ``bytea``,
so that no type must be registered with a connection, whatever schema pgvector is in.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import psycopg
from pgvector import HalfVector
from psycopg import sql
from psycopg.rows import TupleRow

from operators.postgres.store import Connection

LARGEST_HALF = 65_504.0
"""The largest half-precision number. Vectors are stored in half precision."""


def vector_bytes(vectors: Iterable[Any], there: Iterable[bool]) -> list[bytes | None]:
    """For each row with a vector (``there``) the bytes of the next of ``vectors``, else None."""
    left = iter(vectors)
    return [HalfVector(next(left)).to_binary() if one else None for one in there]


def copy_rows(
    conn: Connection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> None:
    """Copy ``rows`` into ``columns`` of ``table``; integers must be Python's, not NumPy's.

    ``columns`` maps each to its Postgres type, ``bytea`` for a vector's bytes.
    """
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with conn.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def insert_rows(
    conn: Connection,
    table: str,
    columns: Mapping[str, str],
    rows: Iterable[Sequence[Any]],
    then: str = "ON CONFLICT DO NOTHING",
) -> psycopg.Cursor[TupleRow]:
    """Insert ``rows``, as :func:`copy_rows` takes them, in one statement; return its cursor.

    ``then`` is the end of the statement, in SQL: the clause for rows whose key exists already.
    """
    values: list[Any] = [list(each) for each in zip(*rows, strict=True)] or [[] for _ in columns]
    for at, kind in enumerate(columns.values()):
        if kind in ("int4", "int8"):  # psycopg takes seven times as long to write integers
            numbers = ("NULL" if one is None else str(one) for one in values[at])
            values[at] = f"{{{','.join(numbers)}}}"
    arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
    return conn.execute(
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT * FROM unnest({arrays}) {then}", values
    )
