"""Binary COPY: psycopg writes the rows, the package pgvector the bytes of a vector.

Those bytes travel under the type ``bytea``. So no type must be registered with a connection,
whatever schema pgvector is in.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from psycopg import sql

from operators.postgres.store import Connection

LARGEST_HALF = 65_504.0
"""The largest number of half precision. Vectors are stored in it."""


def copy_rows(
    conn: Connection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> None:
    """Copy ``rows`` into ``columns`` of ``table``; their integers are Python's, not NumPy's.

    ``columns`` gives each its type as Postgres names it, ``bytea`` for a vector's bytes.
    """
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with conn.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
