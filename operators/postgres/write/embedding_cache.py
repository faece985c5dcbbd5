"""Vectors of texts that were embedded before, by vector space and hash of the text.

They are committed as soon as they are made, so that a killed ingestion embeds nothing twice. They
have half precision, as all vectors of the store: a document written from the cache equals one
written from the model.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from operators.postgres.row_writer import insert_rows
from operators.postgres.store import Store


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
