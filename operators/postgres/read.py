"""Reading chunks: once a corpus and a batch, binary, all vectors in one piece."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import numpy as np
import polars as pl
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from operators.frames import CHUNKS, EMBEDDING
from operators.postgres.batches import Deadline, run
from operators.postgres.copy_binary import EPOCH_2000_US
from operators.postgres.filters import Filter, condition, created_before, moment, scopes
from operators.postgres.store import Connection, Store, collection_info

FILTERS_AT_ONCE = 50

_COLUMNS = {
    name: "item_state AS state" if name == "state" else name
    for name in CHUNKS
    if name != "embedding"
}
_INT8 = struct.Struct(">q")


class _Microseconds(Loader):
    """A timestamptz as microseconds since 2000: a frame needs no datetime object a row."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return cast(int, _INT8.unpack(data)[0])


def fetch_chunks(
    store: Store,
    corpus: str,
    chunk_ids: pl.Series,
    queries: pl.DataFrame,
    *,
    timeout_s: float | None = None,
) -> pl.DataFrame:
    """The chunks of ``corpus`` among ``chunk_ids`` that at least one of ``queries`` may see.

    Args:
        store: the open collection.
        corpus: the corpus that is read.
        chunk_ids: Int64, in any order and with repeats.
        queries: columns ``QUERIES``, whose filters are kept.
        timeout_s: seconds for all of it.

    Returns:
        Columns ``CHUNKS``, each chunk once, ordered by chunk_id; ``embedding`` is
        Array(Float32, dimensions of the collection).

    Raises:
        SearchTimeout: ``timeout_s`` has passed.
    """
    deadline = Deadline.after(timeout_s, f"reading chunks of corpus {corpus!r}")
    dimensions = collection_info(store).dimensions
    ids = chunk_ids.drop_nulls().unique().sort().to_list()
    visible = list(_widest(queries, corpus).items())
    if not ids or not visible or dimensions is None:
        return _frame([], dimensions or 0)
    rows: dict[int, tuple[Any, ...]] = {}
    for start in range(0, len(visible), FILTERS_AT_ONCE):
        part = visible[start : start + FILTERS_AT_ONCE]
        found = run(store, deadline, lambda conn, part=part: _read(conn, corpus, ids, part))  # type: ignore[misc]
        rows.update((row[0], row) for row in found)
    return _frame([row for _, row in sorted(rows.items())], dimensions)


def _widest(queries: pl.DataFrame, corpus: str) -> dict[Filter, datetime | None]:
    """The filters of a batch, each with its latest ``as_of`` (None: no limit)."""
    latest: dict[Filter, datetime | None] = {}
    for scope in scopes(queries, corpus):
        known = latest.setdefault(scope.filter, scope.as_of)
        if known is not None and (scope.as_of is None or scope.as_of > known):
            latest[scope.filter] = scope.as_of
    return latest


def _read(
    conn: Connection,
    corpus: str,
    ids: list[int],
    visible: Sequence[tuple[Filter, datetime | None]],
) -> list[tuple[Any, ...]]:
    # one literal: thousands of numbers one by one would cost more than reading the rows
    parameters: dict[str, Any] = {"corpus": corpus, "ids": "{" + ",".join(map(str, ids)) + "}"}
    clauses = []
    for number, (one, as_of) in enumerate(visible):
        clause: str = condition(one, "c", parameters, number=number)
        if as_of is not None:
            parameters[f"as_of_{number}"] = moment(as_of)
            clause += " AND " + created_before("c", f"%(as_of_{number})s::timestamptz")
        clauses.append(f"({clause})")
    statement = f"""
        SELECT {", ".join(_COLUMNS.values())}, halfvec_send(embedding) FROM chunks c
        WHERE corpus = %(corpus)s AND chunk_id = ANY(%(ids)s::bigint[]) AND ({" OR ".join(clauses)})
    """
    with conn.cursor(binary=True) as cursor:
        cursor.adapters.register_loader("timestamptz", _Microseconds)
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def _frame(rows: list[tuple[Any, ...]], dimensions: int) -> pl.DataFrame:
    width = pl.Array(pl.Float32, dimensions) if dimensions else EMBEDDING
    if not rows:
        return pl.DataFrame(schema={**CHUNKS, "embedding": width})
    *columns, vectors = zip(*rows, strict=True)
    series = [_series(name, values) for name, values in zip(_COLUMNS, columns, strict=True)]
    # before its values, a vector has two half-words: their number and a reserved one
    halves = np.frombuffer(b"".join(vectors), dtype=">f2").reshape(len(rows), -1)
    width = pl.Array(pl.Float32, halves.shape[1] - 2)  # a new model may just have come in
    embedding = pl.Series("embedding", halves[:, 2:].astype(np.float32), dtype=width)
    return pl.DataFrame([*series, embedding])


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    dtype = CHUNKS[name]
    if isinstance(dtype, pl.Datetime):
        since_2000 = pl.Series(name, values, dtype=pl.Int64)
        return (since_2000 + EPOCH_2000_US).cast(dtype)
    return pl.Series(name, values, dtype=dtype)
