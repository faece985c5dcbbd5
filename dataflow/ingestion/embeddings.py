"""Embed: a chunk's vector is taken from the store's cache, or made and kept there at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from hamilton.function_modifiers import tag
from numpy.typing import NDArray

from operators.embedding.protocol import Embedder
from operators.frames import CHUNKS, check
from operators.postgres.store import Store
from operators.postgres.write.embedding_cache import cache_embeddings, cached_embeddings

Vectors = dict[str, NDArray[np.float32]]
"""text_hash -> vector, shape (dimensions,)."""

OnEmbedded = Callable[[int, float], None]
"""Told how many texts were embedded just now, and what share of the batch's texts that makes."""


@tag(stage="embed", io="postgres")
def known_vectors(embedded_texts: pl.DataFrame, store: Store, embedder: Embedder) -> Vectors:
    """The vectors that the cache has of these texts in the model's space, by text hash."""
    return cached_embeddings(store, embedder.space, embedded_texts["text_hash"].to_list())


@tag(stage="embed", io="embedding")
def new_vectors(
    embedded_texts: pl.DataFrame,
    known_vectors: Vectors,
    store: Store,
    embedder: Embedder,
    embed_at_once: int = 64,
    on_embedded: OnEmbedded | None = None,
) -> Vectors:
    """The vectors that the cache lacks, kept there after every ``embed_at_once`` texts."""
    missing = embedded_texts.unique("text_hash", keep="first", maintain_order=True).filter(
        ~pl.col("text_hash").is_in(list(known_vectors))
    )
    made: Vectors = {}
    for part in missing.iter_slices(embed_at_once):
        hashes = part["text_hash"].to_list()
        vectors = embedder.embed_documents(part["text"].to_list())
        cache_embeddings(store, embedder.space, hashes, vectors)
        made.update(zip(hashes, vectors, strict=True))
        if on_embedded is not None:
            on_embedded(len(part), len(made) / len(missing))
    return made


@tag(stage="embed")
def chunk_embeddings(
    chunks: pl.DataFrame,
    embedded_texts: pl.DataFrame,
    known_vectors: Vectors,
    new_vectors: Vectors,
    embedder: Embedder,
) -> pl.DataFrame:
    """The chunks with their vectors, frame CHUNKS."""
    vectors = known_vectors | new_vectors
    width = embedder.dimensions
    rows = [vectors[text_hash] for text_hash in embedded_texts["text_hash"]]
    matrix = np.stack(rows) if rows else np.empty((0, width), dtype=np.float32)
    embedding = pl.Series("embedding", matrix, dtype=pl.Array(pl.Float32, width))
    return check(chunks.with_columns(embedding), CHUNKS, "chunk_embeddings")
