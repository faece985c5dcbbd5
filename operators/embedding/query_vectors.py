"""The vectors of queries as a column of their frame."""

import numpy as np
import polars as pl

from operators.embedding.protocol import Embedder


def with_vectors(texts: pl.DataFrame, embedder: Embedder) -> pl.DataFrame:
    """``texts`` (column text) with the column ``embedding``, the vector of each."""
    vectors = np.asarray(embedder.embed_queries(texts["text"].to_list()), np.float32)
    dtype = pl.Array(pl.Float32, vectors.shape[1])
    return texts.with_columns(pl.Series("embedding", vectors, dtype=dtype))
