"""Reads chunks: one query a corpus and batch, in the binary format, all vectors in one array."""

import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from operators.frames import EMBEDDING, READ_CHUNKS, frame_of
from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.code_links import link_findings
from operators.postgres.search.filters import Filter, condition, scopes
from operators.postgres.search.version_filters import OF_VERSIONS, by_documents, created_before
from operators.postgres.store import Connection, Store, collection_info
from operators.postgres.superseded_counts import SupersededCounts

FILTERS_AT_ONCE = 50

_FOREVER = datetime.max.replace(tzinfo=UTC)  # the as_of of a query without one

EPOCH_2000_US = 946_684_800_000_000
"""Microseconds from 1970 to 2000: the server counts from 2000."""

_STORED = {
    name: "c.item_state" if name == "state" else f"c.{name}"
    for name in READ_CHUNKS
    if name != "embedding"
}
_PLAIN = {
    **_STORED,
    "last_version": "NULL::text",
    "superseded_at": "NULL::timestamptz",
    "removed": "false",
}
_VERSIONED = {
    **_STORED,
    "version": "coalesce(v.version, c.version)",
    "lineage_id": "coalesce(v.lineage_id, c.lineage_id)",
    "last_version": "CASE WHEN s.relation = 'gone' THEN s.last_version END",
    "superseded_at": "CASE WHEN s.relation = 'gone' THEN s.superseded_at END",
    "removed": "(s.relation = 'gone' AND v.ended_in IS NOT NULL AND v.moved_to IS NULL) IS TRUE",
}
_INT8 = struct.Struct(">q")


class _Microseconds(Loader):
    """Loads a timestamptz as microseconds since 1970, without creating a datetime for each row."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return cast(int, _INT8.unpack(data)[0]) + EPOCH_2000_US


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
        chunk_ids: Int64, in any order and with repeats.
        queries: columns ``SCOPED_QUERIES``. Their filters apply; for versions, a filter passes the
            chunks that any time between its earliest and latest ``as_of`` passes.
        timeout_s: seconds for the whole call.

    Returns:
        Columns ``READ_CHUNKS``, each chunk once, ordered by chunk_id; ``embedding`` is
        Array(Float32, dimensions of the collection), zeros where the store lacks the vector. A
        finding without a link gets the link of its file.

    Raises:
        SearchTimeout: ``timeout_s`` has passed.
    """
    deadline = Deadline.after(timeout_s, f"reading chunks of corpus {corpus!r}")
    info = collection_info(store)
    dimensions, superseded = info.dimensions, info.superseded.get(corpus)
    ids = sorted(set(chunk_ids.to_list()) - {None})
    visible = list(_widest(queries, corpus, superseded).items())
    if not ids or not visible or dimensions is None:
        return _frame([], dimensions or 0)
    rows: dict[int, tuple[Any, ...]] = {}
    columns = _PLAIN if superseded is None else _VERSIONED
    for start in range(0, len(visible), FILTERS_AT_ONCE):
        part = visible[start : start + FILTERS_AT_ONCE]
        read = partial(_read, corpus=corpus, ids=ids, visible=part, columns=columns)
        rows.update((row[0], row) for row in run(store, deadline, read))
    return link_findings(
        store, _frame([row for _, row in sorted(rows.items())], dimensions), deadline
    )


def without_vector(chunks: pl.DataFrame) -> pl.DataFrame:
    """Column chunk_id: the ``chunks`` (``READ_CHUNKS``) without a vector (all zeros)."""
    if not isinstance(chunks["embedding"].dtype, pl.Array):  # the empty frame has no width
        return chunks["chunk_id"].clear().to_frame()
    lacking = ~chunks["embedding"].to_numpy().any(axis=1)
    return chunks["chunk_id"].to_frame().filter(pl.Series(lacking))


def _widest(
    queries: pl.DataFrame, corpus: str, superseded: SupersededCounts | None
) -> dict[Filter, tuple[str, str]]:
    """The filters of a batch without ``as_of``, each with its earliest and latest ``as_of``."""
    moments: dict[Filter, list[datetime]] = defaultdict(list)
    for _, scope in scopes(queries, corpus, superseded):
        moments[replace(scope, as_of=None)].append(scope.as_of or _FOREVER)
    return {scope: (_moment(min(of)), _moment(max(of))) for scope, of in moments.items()}


def _moment(at: datetime) -> str:
    return "infinity" if at is _FOREVER else at.isoformat()


def _read(
    conn: Connection,
    *,
    corpus: str,
    ids: list[int],
    visible: Sequence[tuple[Filter, tuple[str, str]]],
    columns: Mapping[str, str],
) -> list[tuple[Any, ...]]:
    # one literal: thousands of parameters would cost more than reading the rows
    parameters: dict[str, Any] = {"corpus": corpus, "ids": "{" + ",".join(map(str, ids)) + "}"}
    clauses = []
    for number, (scope, (early, late)) in enumerate(visible):
        parameters |= {f"early_{number}": early, f"late_{number}": late}
        clause = " AND ".join(
            [
                condition(scope, "c", parameters, number=number),
                created_before(scope, "c", f"%(late_{number})s::timestamptz", versions_joined=True),
                by_documents(
                    scope, parameters, moment=f"%(early_{number})s::timestamptz", number=number
                ),
            ]
        )
        clauses.append(f"({clause})")
    statement = f"""
        SELECT {", ".join(columns.values())}, halfvec_send(c.embedding)
        FROM chunks c {OF_VERSIONS if columns is _VERSIONED else ""}
        WHERE c.corpus = %(corpus)s AND c.chunk_id = ANY(%(ids)s::bigint[])
          AND ({" OR ".join(clauses)})
    """
    with conn.cursor(binary=True) as cursor:
        cursor.adapters.register_loader("timestamptz", _Microseconds)
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def _frame(rows: list[tuple[Any, ...]], dimensions: int) -> pl.DataFrame:
    width = pl.Array(pl.Float32, dimensions) if dimensions else EMBEDDING
    if not rows:
        return pl.DataFrame(schema={**READ_CHUNKS, "embedding": width})
    *columns, vectors = zip(*rows, strict=True)
    series = [
        pl.Series(name, values, dtype=READ_CHUNKS[name])
        for name, values in zip(_STORED, columns, strict=True)
    ]
    # two half-words precede the values of a vector: their number and a reserved one
    if None in vectors:  # the store lacks some vectors: use zeros
        size = next((len(one) for one in vectors if one is not None), 4 + 2 * dimensions)
        vectors = tuple([one or bytes(size) for one in vectors])
    halves = np.frombuffer(b"".join(vectors), dtype=">f2").reshape(len(rows), -1)
    width = pl.Array(pl.Float32, halves.shape[1] - 2)  # the model may have just changed
    embedding = pl.Series("embedding", halves[:, 2:].astype(np.float32), dtype=width)
    return frame_of([*series, embedding])
