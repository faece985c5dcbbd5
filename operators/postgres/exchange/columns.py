"""How a table's columns are written in Arrow: the server's catalogue names them and their types.

A vector and a key travel as the bytes that the server sends and takes; in Arrow a vector is a list
of fixed size. What follows from other columns stays out: a collection that is imported makes it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from psycopg import sql

from operators.errors import CrosscorpusError
from operators.postgres.binary_copy import halfvec_bytes
from operators.postgres.store import Connection

TABLES = (
    "corpora",
    "repos",
    "documents",
    "chunks",
    "postings",
    "terms",
    "embedding_cache",
    "sync_items",
    "sync_state",
    "runs",
    "document_versions",
    "superseded_chunks",
    "document_sketches",
    "versioned_corpora",
)
"""What is written, in the order in which rows can refer to each other. The rest of a collection is
``collection`` and ``migrations``, which stand in the manifest."""

LEFT_OUT = ["bm25", "search_tsv", "next_embedding"]
"""Weights follow from the counts, words from the text; other vectors belong to an unfinished
migration to another model."""

_ARROW = {
    "boolean": pa.bool_(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "double precision": pa.float64(),
    "text": pa.string(),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    "bytea": pa.binary(),
    "uuid": pa.binary(16),
    "integer[]": pa.list_(pa.int32()),
    "text[]": pa.list_(pa.string()),
}
_AS_BYTES = {"halfvec", "uuid"}


class Column(NamedTuple):
    """A column: its name, its type as Postgres calls it, and its type in Arrow."""

    name: str
    kind: str
    type: pa.DataType

    @property
    def copied_as(self) -> str:
        """The type under which :func:`operators.postgres.binary_copy.copy_rows` takes it."""
        return "bytea" if self.kind in _AS_BYTES else self.kind

    @property
    def selected(self) -> sql.Composable:
        """The SQL expression that reads it."""
        name = sql.Identifier(self.name)
        send = sql.SQL(f"{self.kind}_send({{}})" if self.kind in _AS_BYTES else "{}")
        return send.format(name)


def table_columns(conn: Connection, table: str) -> list[Column]:
    """The columns of ``table`` that are written."""
    rows = conn.execute(
        "SELECT attname, split_part(format_type(atttypid, NULL), '.', -1), atttypmod"
        " FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attname <> ALL (%s) ORDER BY attnum",
        (table, LEFT_OUT),
    ).fetchall()
    return [
        Column(name, kind, pa.list_(pa.float16(), size) if kind == "halfvec" else _ARROW[kind])
        for name, kind, size in rows
    ]


def to_arrow(column: Column, values: Sequence[Any]) -> pa.Array:
    """The values that the server gave for a column, as an array of its type."""
    if column.kind != "halfvec":
        return pa.array(values, column.type)
    size = column.type.list_size
    lacking = bytes(4 + 2 * size)  # two numbers of 16 bits stand before a vector
    raw = np.frombuffer(b"".join(value or lacking for value in values), ">f2")
    flat = raw.reshape(-1, size + 2)[:, 2:].astype(np.float16).ravel()
    mask = pa.array([value is None for value in values])
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), type=column.type, mask=mask)


def from_arrow(column: Column, array: pa.Array) -> list[Any]:
    """The values of an array of a column's type, as the server takes them.

    Raises:
        CrosscorpusError: a number of a vector is missing, infinite or NaN.
    """
    if column.kind != "halfvec":
        return list(array.to_pylist())
    flat = array.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    if not np.isfinite(flat).all():
        raise CrosscorpusError(f"column {column.name!r} has a vector that is not finite")
    vectors = iter(halfvec_bytes(flat.reshape(-1, column.type.list_size)))
    return [next(vectors) if there else None for there in array.is_valid().to_pylist()]
