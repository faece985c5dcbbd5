"""The Arrow schemas of the exported tables, from the server's catalogue.

Keys and BM25 weights are exported as bytes, a vector as a fixed-size list.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from operators.postgres.row_writer import vector_bytes
from operators.postgres.store import Connection

TABLES = (
    *("corpora", "repos", "documents", "chunks", "postings", "terms", "embedding_cache"),
    *("sync_items", "sync_state", "runs"),
    *("document_versions", "superseded_chunks", "document_sketches", "versioned_corpora"),
    *("access_classes", "access_terms", "access_repos", "rights"),
)
"""All tables but two, which the manifest contains. A row refers to earlier tables only."""

GONE = ("version_corrections",)
"""Tables of older exports, which an import leaves out."""

LEFT_BEHIND = {"runs": ("folder",)}
"""Columns whose values an import drops: a working tree is on the exporting machine, and git
commands would run in it."""

LEFT_OUT = ["embedding_error", "command"]
"""Columns that are not exported: embedding errors, because an import retries; commands, because an
import must not bring foreign ones."""

_ARROW = {
    "boolean": pa.bool_(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "double precision": pa.float64(),
    "text": pa.string(),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    "bytea": pa.binary(),
    "sparsevec": pa.binary(),
    "uuid": pa.binary(16),
    "integer[]": pa.list_(pa.int32()),
    "text[]": pa.list_(pa.string()),
}
_KINDS = {arrow: kind for kind, arrow in _ARROW.items() if kind not in ("uuid", "sparsevec")}


def table_schema(conn: Connection, table: str) -> pa.Schema:
    """The columns of ``table`` that are exported."""
    rows = conn.execute(
        "SELECT attname, split_part(format_type(atttypid, NULL), '.', -1), atttypmod"
        " FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attname <> ALL (%s) ORDER BY attnum",
        (table, LEFT_OUT),
    )
    return pa.schema(
        (name, pa.list_(pa.float16(), size) if kind == "halfvec" else _ARROW[kind])
        for name, kind, size in rows
    )


def copied_as(fields: Iterable[pa.Field]) -> dict[str, str]:
    """The type of each column for ``copy_rows``."""
    return {field.name: _KINDS.get(field.type, "bytea") for field in fields}


def to_arrow(values: Sequence[Any], arrow: pa.DataType) -> pa.Array:
    """The server's ``values`` (keys and vectors as bytes) as an array."""
    if not pa.types.is_fixed_size_list(arrow):
        return pa.array(values, arrow)
    width = arrow.list_size + 2  # two 16-bit numbers precede a vector
    raw = np.frombuffer(b"".join(value or bytes(2 * width) for value in values), ">f2")
    flat = pa.array(raw.reshape(-1, width)[:, 2:].astype(np.float16).ravel())
    lacking = pa.array([value is None for value in values])
    return pa.FixedSizeListArray.from_arrays(flat, type=arrow, mask=lacking)


def from_arrow(array: pa.Array) -> list[Any]:
    """The values of an array for ``copy_rows``; raises ValueError if a vector is not finite."""
    if not pa.types.is_fixed_size_list(array.type):
        return list(array.to_pylist())
    flat = array.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    if not np.isfinite(flat).all():
        raise ValueError("a vector is not finite")
    return vector_bytes(flat.reshape(-1, array.type.list_size), array.is_valid().to_pylist())
