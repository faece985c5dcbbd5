"""The texts, unit vectors and token sets that decide whether two chunks are near-duplicates.

A corpus's index is made once, for the near-duplicates within the corpus and across corpora.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from operators.arrays.segments import Floats, Integers
from operators.dedup.cosine import unit_vectors
from operators.dedup.token_index import TokenIndex, index_tokens


@dataclass(frozen=True)
class SimilarityIndex:
    """One entry per chunk."""

    chunk_id: Integers
    text: list[str]  # each run of white space as one space; null is empty
    vector: Floats  # unit vectors; zeros for a chunk without a usable embedding
    tokens: tuple[TokenIndex, ...]  # the sets of all entries, in one or several parts


def index_similarity(chunks: pl.DataFrame) -> SimilarityIndex:
    """The index of every row of ``chunks``: columns chunk_id, text and, if known, embedding.

    An embedding that is null, zero, not finite or of another length than most is not usable.
    """
    known = "embedding" in chunks.columns
    vector = unit_vectors(chunks["embedding"]) if known else np.zeros((chunks.height, 0))
    text = [" ".join((one or "").split()) for one in chunks["text"]]
    return SimilarityIndex(chunks["chunk_id"].to_numpy(), text, vector, (index_tokens(chunks),))


def joined(indexes: Sequence[SimilarityIndex]) -> SimilarityIndex:
    """The entries of all ``indexes``, concatenated.

    Vectors of an unusual length can't be compared with the others: they become zeros.
    """
    if len(indexes) == 1:
        return indexes[0]
    sizes: dict[int, int] = {0: 0}
    for one in indexes:
        length = one.vector.shape[1]
        sizes[length] = sizes.get(length, 0) + len(one.vector) * (length > 0)
    usual = max(sizes, key=lambda length: (sizes[length], length))
    vectors = [
        one.vector if one.vector.shape[1] == usual else np.zeros((len(one.vector), usual))
        for one in indexes
    ]
    return SimilarityIndex(
        np.concatenate([np.zeros(0, np.int64), *(one.chunk_id for one in indexes)]),
        [text for one in indexes for text in one.text],
        np.concatenate([np.zeros((0, usual)), *vectors]),
        tuple(tokens for one in indexes for tokens in one.tokens),
    )
