"""Binary COPY: psycopg writes the rows, this module writes pgvector's types.

A vector travels as the bytes that the server stores, under the type ``bytea``. So no type must be
registered with a connection, whatever schema pgvector is in.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from operators.postgres.store import Connection

LARGEST_HALF = 65_504.0
"""The largest number of half precision. Vectors are stored in it."""

_HALFVEC = struct.Struct(">hh")  # dimensions, reserved
_SPARSEVEC = struct.Struct(">iii")  # dimensions, entries, reserved


def copy_rows(
    conn: Connection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> None:
    """Copy ``rows`` into ``columns`` of ``table``.

    Args:
        conn: the open transaction.
        table: its name.
        columns: the type of each column as Postgres names it, ``bytea`` for a vector.
        rows: a value a column, in the order of ``columns``; integers of Python, not of NumPy.
    """
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with conn.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)


def halfvec_bytes(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each row of an array of shape (rows, dimensions) as a ``halfvec``."""
    head = _HALFVEC.pack(vectors.shape[1], 0)
    return [head + row.tobytes() for row in vectors.astype(">f2")]


def sparsevec_bytes(
    indices: NDArray[np.int64], values: NDArray[np.float32], dimensions: int
) -> bytes:
    """A ``sparsevec``; ``indices`` ascend and count from 1, as in its text form."""
    head = _SPARSEVEC.pack(dimensions, len(indices), 0)
    return head + (indices - 1).astype(">i4").tobytes() + values.astype(">f4").tobytes()
