"""The texts, unit vectors and token sets that decide whether two chunks are near-duplicates.

A corpus's index is made once, for the near-duplicates within the corpus and across corpora.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from operators.arrays.segments import Floats, Integers
from operators.dedup.cosine import unit_vectors
from operators.dedup.token_index import TokenIndex, index_tokens, joined_tokens


@dataclass(frozen=True)
class SimilarityIndex:
    """One entry per chunk."""

    chunk_id: Integers
    vector: Floats  # unit vectors; zeros for a chunk without a usable embedding
    tokens: TokenIndex  # with the texts


def index_similarity(chunks: pl.DataFrame) -> SimilarityIndex:
    """The index of every row of ``chunks``: columns chunk_id, text and, if known, embedding and
    token_sketch.

    An embedding that is null, zero, not finite or of another length than most is not usable.
    """
    known = "embedding" in chunks.columns
    vector = unit_vectors(chunks["embedding"]) if known else np.zeros((chunks.height, 0))
    return SimilarityIndex(chunks["chunk_id"].to_numpy(), vector, index_tokens(chunks))


def joined(one: SimilarityIndex, texts: SimilarityIndex) -> SimilarityIndex:
    """The entries of both; those of ``texts`` have no vectors."""
    return SimilarityIndex(
        np.concatenate([one.chunk_id, texts.chunk_id]),
        np.pad(one.vector, ((0, len(texts.chunk_id)), (0, 0))),
        joined_tokens(one.tokens, texts.tokens),
    )
