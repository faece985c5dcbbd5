"""Vectors of texts that were embedded before, by vector space and hash of the text.

They are committed as soon as they are made, so that a killed ingestion embeds nothing twice. They
have half precision, as all vectors of the store: a document written from the cache equals one
written from the model.

Vectors of texts that are gone stay for a while: what goes out with a branch comes in again. Once
they are more than those in use, they are deleted.
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
"""Vectors that a cache of any size may have beyond twice those in use."""

_SIZES = """
    SELECT (SELECT count(*) FROM embedding_cache), (SELECT coalesce(sum(chunks), 0) FROM corpora),
        (SELECT count(space) + count(next_space) FROM collection)
"""
_FORGET_SPACES = """
    DELETE FROM embedding_cache WHERE NOT EXISTS (
        SELECT 1 FROM collection c WHERE embedding_cache.space IN (c.space, c.next_space))
"""


def cached_embeddings(
    store: Store, space: str, hashes: Sequence[str]
) -> dict[str, NDArray[np.float32]]:
    """The known vectors in ``space``, by hash; unknown hashes are left out."""
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
    """Store ``vectors``, shape (len(hashes), dimensions), of the texts that ``hashes`` name."""
    known = dict(zip(hashes, vectors.astype("<f2"), strict=True))
    rows = [(space, key, known[key].tobytes()) for key in sorted(known)]
    columns = {"space": "text", "text_hash": "text", "embedding": "bytea"}
    store.run(partial(insert_rows, table="embedding_cache", columns=columns, rows=rows))


def limit_cache(store: Store) -> None:
    """Delete vectors that no passage needs, where they are more than those in use.

    Those of models that are no longer the collection's go first.
    """
    cached, chunks, spaces = store.row(_SIZES) or (0, 0, 0)
    if cached > 2 * chunks * spaces + SPARE:
        store.execute(_FORGET_SPACES)
        forget_unused_vectors(store)
        vacuum(store, ["embedding_cache"])


def forget_unused_vectors(store: Store) -> None:
    """Delete the vectors of texts that no passage has: of deleted and of earlier ones."""

    def hashes(rows: Iterator[TupleRow]) -> list[str]:
        return sorted({text_hash(embedded_text(*row)).hex() for row in rows})

    kept = over_rows(store, "SELECT title, anchor, text FROM chunks", (), hashes)
    store.execute(
        "DELETE FROM embedding_cache e WHERE NOT EXISTS ("
        " SELECT 1 FROM unnest(%s::text[]) AS kept(text_hash) WHERE kept.text_hash = e.text_hash)",
        (kept,),
    )
