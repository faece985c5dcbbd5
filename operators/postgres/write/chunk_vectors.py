"""Embeds chunks that are stored already; until then, they are found by keyword search only.

A worker locks the rows of a few chunks, embeds them and writes their vectors, in one transaction.
So two workers never have the same chunk, and a dead worker's chunks are unlocked at once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg.rows import TupleRow

from operators.postgres.row_writer import LARGEST_HALF, copy_rows
from operators.postgres.schema.partitions import lock
from operators.postgres.schema.tables import shards_of
from operators.postgres.store import WAITS, Connection, Store, check_space

LAST = ("history",)
"""Corpora that get their vectors after all others: they are searched least."""

UNFILLED = pl.Schema(
    {
        "corpus": pl.String(),
        "chunk_id": pl.Int64(),
        "row_version": pl.Int64(),
        **dict.fromkeys(("document_id", "title", "anchor", "text"), pl.String()),
    }
)
_UNFIT = "the model gave a vector that is not finite in half precision"
_READ = "SELECT corpus, chunk_id, xmin::text::bigint, document_id, title, anchor, text FROM chunks"
_IN_ORDER = "ORDER BY ordinal, created_at DESC NULLS LAST, chunk_id"

Embed = Callable[[pl.DataFrame], tuple[NDArray[np.float32], dict[int, str]]]
"""Takes chunks (``UNFILLED``); returns an array (chunks, dimensions), and why rows failed."""


class Some(NamedTuple):
    """The result of one transaction: the chunks of ``corpus`` with a vector, and the failed ones.

    ``failed`` has the document and the reason.
    """

    corpus: str
    vectors: int
    failed: list[tuple[str, str]]


def embed_some(store: Store, embed: Embed, *, limit: int) -> Some | None:
    """Embed the first ``limit`` chunks of the queue and store their vectors.

    The corpus with the fewest chunks comes first; those of ``LAST`` after all others. In a corpus,
    the first chunks of all documents come before the second ones, the newest first. None: every
    chunk has a vector or a recorded error, or another worker has locked it.

    Raises:
        ModelMismatch: the collection holds vectors of another space than ``store`` was opened for.
    """
    return store.run(partial(_embed_some, store=store, embed=embed, limit=limit))


def _embed_some(conn: Connection, store: Store, embed: Embed, limit: int) -> Some | None:
    locked = "FOR UPDATE SKIP LOCKED"
    if store.clustered and shards_of(conn, store.schema) > 1:
        lock(conn, "vectors")  # a cluster cannot lock rows of several shards: one worker at a time
        locked = ""
    waiting = f"{_READ} c WHERE corpus = %s AND {WAITS} {_IN_ORDER} LIMIT %s {locked}"
    order = "corpus = ANY(%s), chunks, corpus"
    corpora = conn.execute(f"SELECT corpus FROM corpora ORDER BY {order}", (list(LAST),)).fetchall()
    for (corpus,) in corpora:
        if rows := conn.execute(waiting, (corpus, limit)).fetchall():
            return _embed_rows(conn, store, embed, rows)
    return None


def _embed_rows(conn: Connection, store: Store, embed: Embed, rows: list[TupleRow]) -> Some:
    corpus, chunks = str(rows[0][0]), pl.DataFrame(rows, schema=UNFILLED, orient="row")
    vectors, failed = embed(chunks)
    fit = (np.abs(vectors) <= LARGEST_HALF).all(axis=1)
    failed = {int(row): _UNFIT for row in np.flatnonzero(~fit)} | failed
    check_space(store, conn)
    made = [row for row in range(len(chunks)) if row not in failed]
    _set_vectors(conn, chunks[made], vectors[made])
    for row, reason in failed.items():
        conn.execute(
            "UPDATE chunks SET embedding_error = %s WHERE corpus = %s AND chunk_id = %s",
            (reason, corpus, chunks["chunk_id"][row]),
        )
    named = [(chunks["document_id"][row], reason) for row, reason in failed.items()]
    return Some(corpus, len(made), named)


def try_again(store: Store) -> None:
    """Queue again the chunks that the model could not embed."""
    store.execute("UPDATE chunks SET embedding_error = NULL WHERE embedding_error IS NOT NULL")


def _set_vectors(conn: Connection, chunks: pl.DataFrame, vectors: NDArray[np.float32]) -> None:
    """Store the ``vectors`` of ``chunks``, except chunks that were rewritten since."""
    columns = {"corpus": "text", "chunk_id": "int8", "row_version": "int8"}
    named: list[tuple[Any, ...]] = chunks.select(list(columns)).rows()
    rows = [(*row, HalfVector(one).to_binary()) for row, one in zip(named, vectors, strict=True)]
    conn.execute(
        "CREATE TEMP TABLE filled (corpus text, chunk_id bigint, row_version bigint,"
        " vector halfvec) ON COMMIT DROP"
    )
    copy_rows(conn, "filled", {**columns, "vector": "bytea"}, rows)
    conn.execute(
        "UPDATE chunks c SET embedding = f.vector FROM filled f"
        " WHERE c.corpus = f.corpus AND c.chunk_id = f.chunk_id"
        " AND c.xmin::text::bigint = f.row_version"
    )
