"""Reads chunks: one query a corpus and batch, in the binary format, all vectors in one array."""

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

from operators.context.search_outcomes import unsuccessful
from operators.frames import EMBEDDING, OUTCOMES, READ_CHUNKS, empty, frame_of, stacked
from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.code_links import link_findings
from operators.postgres.search.filters import Filter, condition, scopes
from operators.postgres.search.timed_search import SearchRequest
from operators.postgres.search.version_filters import OF_VERSIONS, by_documents, created_before
from operators.postgres.store import Connection, Store, by_store, collection_info

FILTERS_AT_ONCE = 50
PARTS_AT_ONCE = 20
"""The corpora, or parts of their filters, that one statement reads."""

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
_CORPUS = list(_STORED).index("corpus")
_INT8 = struct.Struct(">q")


class _Part(NamedTuple):
    """What one part of a statement reads: chunks of a corpus by at most ``FILTERS_AT_ONCE``."""

    corpus: str
    ids: list[int]
    visible: Sequence[tuple[Filter, tuple[str, str]]]
    versioned: bool


class _Microseconds(Loader):
    """Loads a timestamptz as microseconds since 1970, without creating a datetime for each row."""

    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return cast(int, _INT8.unpack(data)[0]) + EPOCH_2000_US


class Wanted(NamedTuple):
    """Chunks of a corpus that a caller wants to read."""

    corpus: str
    """The corpus's name in its collection."""
    chunk_ids: pl.Series
    """Int64, in any order and with repeats."""
    queries: pl.DataFrame
    """Columns ``SCOPED_QUERIES``. Their filters apply; for versions, a filter passes the chunks
    that any time between its earliest and latest ``as_of`` passes."""


def fetch_chunks(
    store: Store, wanted: Iterable[Wanted], *, timeout_s: float | None = None
) -> pl.DataFrame:
    """The chunks of each corpus that are ``wanted`` and that at least one query may see.

    Args:
        store: the collection.
        wanted: the chunks of each corpus; they are read together.
        timeout_s: seconds for the whole call.

    Returns:
        Columns ``READ_CHUNKS``, each chunk once, ordered by corpus and chunk_id; ``embedding`` is
        Array(Float32, dimensions of the collection), zeros where the store lacks the vector. A
        finding without a link gets the link of its file.

    Raises:
        SearchTimeout: ``timeout_s`` has passed.
    """
    wanted = list(wanted)
    named = ", ".join(sorted(one.corpus for one in wanted))
    deadline = Deadline.after(timeout_s, f"reading chunks of corpus {named!r}")
    info = collection_info(store)
    if info.dimensions is None:
        return _frame([], 0)
    parts: list[_Part] = []
    for corpus, chunk_ids, queries in wanted:
        superseded = info.superseded.get(corpus)
        ids = sorted(set(chunk_ids.to_list()) - {None})
        visible = list(_widest(queries, corpus, superseded).items()) if ids else []
        parts += (
            _Part(corpus, ids, visible[start : start + FILTERS_AT_ONCE], superseded is not None)
            for start in range(0, len(visible), FILTERS_AT_ONCE)
        )
    rows: dict[tuple[str, int], tuple[Any, ...]] = {}
    for start in range(0, len(parts), PARTS_AT_ONCE):
        read = partial(_read, parts=parts[start : start + PARTS_AT_ONCE])
        rows.update(((row[_CORPUS], row[0]), row) for row in run(store, deadline, read))
    return link_findings(
        store, _frame([row for _, row in sorted(rows.items())], info.dimensions), deadline
    )


def chunks_of_hits(
    requests: Mapping[str, SearchRequest], hits: Sequence[pl.DataFrame], *, skip_failures: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The chunks of all hits, and an outcome for each corpus whose chunks could not be read.

    Args:
        requests: by corpus, the queries that may see its chunks.
        hits: columns corpus and chunk_id.
        skip_failures: of several collections, one that fails does not end the call.

    Returns:
        Columns ``READ_CHUNKS``, by corpus and chunk_id; ``corpus`` is the caller's name. Where
        vectors of several models differ in length, the shorter ones end with zeros. ``OUTCOMES``.
    """
    found = {str(corpus): ids for (corpus,), ids in _ids(hits)}
    homes = {corpus: requests[corpus].home for corpus in sorted(found)}
    parts, failed = [], [empty(OUTCOMES)]
    for store, names in by_store(homes):
        wanted = [Wanted(of, found[name], requests[name].queries) for of, name in names.items()]
        limits = [requests[name].timeout_s for name in names.values()]
        timeout_s = None if None in limits else max(filter(None, limits), default=None)
        began = perf_counter()
        try:
            rows = fetch_chunks(store, wanted, timeout_s=timeout_s)
        except Exception as error:
            if not skip_failures or len(by_store(homes)) == 1:
                raise
            elapsed_ms = (perf_counter() - began) * 1000
            failed += (unsuccessful(n, "chunks", error, elapsed_ms) for n in names.values())
        else:
            parts.append(rows.with_columns(pl.col("corpus").replace(names)))
    return _equal_width([part for part in parts if part.height]), stacked(failed)


def _ids(hits: Sequence[pl.DataFrame]) -> Iterable[tuple[tuple[Any, ...], pl.Series]]:
    every = pl.concat(frame["corpus", "chunk_id"] for frame in hits)
    return ((key, of["chunk_id"]) for key, of in every.group_by("corpus"))


def _equal_width(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The ``parts``, sorted by corpus and chunk_id, with embeddings of the longest length."""
    if not parts:
        return empty(READ_CHUNKS)
    widths = [part["embedding"].to_numpy().shape[1] for part in parts]
    lacking = [(part, max(widths) - width) for part, width in zip(parts, widths, strict=True)]
    padded = [_padded(part, zeros) if zeros else part for part, zeros in lacking]
    whole = padded[0] if len(padded) == 1 else pl.concat(padded)
    corpora = whole["corpus"].to_list()
    return whole if corpora == sorted(corpora) else whole.sort("corpus", maintain_order=True)


def _padded(chunks: pl.DataFrame, zeros: int) -> pl.DataFrame:
    vectors = np.pad(chunks["embedding"].to_numpy(), ((0, 0), (0, zeros)))
    return chunks.with_columns(pl.Series("embedding", vectors))


def without_vector(chunks: pl.DataFrame) -> pl.DataFrame:
    """Columns corpus and chunk_id of the ``chunks`` without a vector (all zeros)."""
    if not isinstance(chunks["embedding"].dtype, pl.Array):  # the empty frame has no width
        return chunks["corpus", "chunk_id"].clear()
    lacking = ~chunks["embedding"].to_numpy().any(axis=1)
    return chunks["corpus", "chunk_id"].filter(pl.Series(lacking))


def _widest(
    queries: pl.DataFrame, corpus: str, superseded: int | None
) -> dict[Filter, tuple[str, str]]:
    """The filters of a batch without ``as_of``, each with its earliest and latest ``as_of``."""
    moments: dict[Filter, list[datetime]] = defaultdict(list)
    for _, scope in scopes(queries, corpus, superseded):
        moments[replace(scope, as_of=None)].append(scope.as_of or _FOREVER)
    return {scope: (_moment(min(of)), _moment(max(of))) for scope, of in moments.items()}


def _moment(at: datetime) -> str:
    return "infinity" if at is _FOREVER else at.isoformat()


def _read(conn: Connection, *, parts: Sequence[_Part]) -> list[tuple[Any, ...]]:
    parameters: dict[str, Any] = {}
    statements = []
    for n, (corpus, ids, visible, versioned) in enumerate(parts):
        # one literal: thousands of parameters would cost more than reading the rows
        parameters |= {f"corpus_{n}": corpus, f"ids_{n}": "{" + ",".join(map(str, ids)) + "}"}
        clauses = []
        for number, (scope, (early, late)) in enumerate(visible):
            own = f"_{n}_{number}"
            parameters |= {f"corpus{own}": corpus, f"early{own}": early, f"late{own}": late}
            clause = " AND ".join(
                [
                    condition(scope, "c", parameters, suffix=own),
                    created_before(scope, "c", f"%(late{own})s::timestamptz", versions_joined=True),
                    by_documents(
                        scope, parameters, moment=f"%(early{own})s::timestamptz", suffix=own
                    ),
                ]
            )
            clauses.append(f"({clause})")
        columns = _VERSIONED if versioned else _PLAIN
        statements.append(
            f"""SELECT {", ".join(columns.values())}, halfvec_send(c.embedding)
            FROM chunks c {OF_VERSIONS if versioned else ""}
            WHERE c.corpus = %(corpus_{n})s AND c.chunk_id = ANY(%(ids_{n})s::bigint[])
              AND ({" OR ".join(clauses)})"""
        )
    with conn.cursor(binary=True) as cursor:
        cursor.adapters.register_loader("timestamptz", _Microseconds)
        cursor.execute(" UNION ALL ".join(statements), parameters)
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
