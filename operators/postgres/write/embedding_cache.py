"""The cache of embeddings, by vector space and hash of the text.

They are committed at once, so that an interrupted ingestion embeds nothing twice. They have half
precision, like all vectors of the store: a document written from the cache equals one written from
the model.

Vectors of removed texts stay for a while, because a text that one branch lacks may return with the
next. Once they outnumber the vectors in use, they are deleted.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from psycopg.rows import TupleRow

from operators.embedding.cache import text_hash
from operators.embedding.passage import embedded_text
from operators.postgres.row_writer import insert_rows
from operators.postgres.schema.indexes import vacuum
from operators.postgres.server_cursor import over_rows
from operators.postgres.store import Store

SPARE = 10_000
"""Vectors that the cache may always hold beyond twice those in use."""

_SIZES = """
    SELECT (SELECT count(*) FROM embedding_cache), (SELECT coalesce(sum(chunks), 0) FROM corpora)
"""


def cached_embeddings(
    store: Store, space: str, hashes: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """The cached vectors in ``space``, by hash; unknown hashes are left out."""
    rows = store.run(
        lambda conn: conn.execute(
            "SELECT text_hash, embedding FROM embedding_cache"
            " WHERE space = %s AND text_hash = ANY(%s)",
            (space, sorted(set(hashes))),
            binary=True,
        ).fetchall()
    )
    return {key: np.frombuffer(raw, dtype="<f2").astype(np.float32) for key, raw in rows}


def cache_embeddings(
    store: Store, space: str, hashes: Sequence[str], vectors: NDArray[np.float32]
) -> None:
    """Store ``vectors``, shape (len(hashes), dimensions), of the texts with these ``hashes``."""
    known = dict(zip(hashes, vectors.astype("<f2"), strict=True))
    rows = [(space, key, known[key].tobytes()) for key in sorted(known)]
    columns = {"space": "text", "text_hash": "text", "embedding": "bytea"}
    store.run(partial(insert_rows, table="embedding_cache", columns=columns, rows=rows))


def limit_cache(store: Store) -> None:
    """Delete the unused vectors if they outnumber those in use."""
    cached, chunks = store.row(_SIZES) or (0, 0)
    if cached > 2 * chunks + SPARE:
        forget_unused_vectors(store)
        vacuum(store, ["embedding_cache"])


def forget_unused_vectors(store: Store) -> None:
    """Delete the vectors of texts that no passage has: of deleted and changed passages."""

    def hashes(rows: Iterator[TupleRow]) -> list[str]:
        return sorted({text_hash(embedded_text(*row)).hex() for row in rows})

    kept = over_rows(store, "SELECT title, anchor, text FROM chunks", (), hashes)
    store.execute(
        "DELETE FROM embedding_cache e WHERE NOT EXISTS ("
        " SELECT 1 FROM unnest(%s::text[]) AS kept(text_hash) WHERE kept.text_hash = e.text_hash)",
        (kept,),
    )
