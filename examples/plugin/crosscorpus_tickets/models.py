"""Models: loaders, which crosscorpus calls when a configuration names them."""

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from operators.embedding.protocol import Vectors, space_fingerprint, unit


class Letters:
    """Counts pairs of letters: small, instant, and no good model."""

    model, dimensions, max_tokens = "letters", 64, 400
    space = space_fingerprint({"letters": "hashed pairs", "version": 1})

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Words stand for word-pieces."""
        return [len(text.split()) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        rows = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for pair in pairwise(text):
                row[hashlib.sha256("".join(pair).encode()).digest()[0] % self.dimensions] += 1
        return unit(rows, self.model)

    embed_queries = embed_documents


def letters() -> Letters:
    """Load the model."""
    return Letters()


def shared_words() -> Callable[[Sequence[tuple[str, str]]], list[float]]:
    """A reranker: how many words of the question the passage has."""

    def scores(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [
            float(len({*question.lower().split()} & {*passage.lower().split()}))
            for question, passage in pairs
        ]

    return scores
