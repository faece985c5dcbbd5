"""An embedding model that is quick, and the same everywhere."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from operators.embedding.protocol import EmbeddingError


class WordEmbedder:
    """Bags of hashed words: quick, the same everywhere, and a record of what it was asked."""

    model = "words"
    dimensions = 32
    max_tokens = 40

    def __init__(self, space: str = "words-1") -> None:
        self.space = space
        self.embedded: list[str] = []
        self.counted = 0
        self.fails_on = "\0never"

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        self.counted += 1
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for text in texts:
            if self.fails_on in text:
                raise EmbeddingError("the model is away")
        self.embedded.extend(texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        seed = zlib.crc32(self.space.encode())
        vector = np.full(self.dimensions, 0.01, dtype=np.float32)
        for word in text.lower().split():
            vector[zlib.crc32(word.encode(), seed) % self.dimensions] += 1
        return (vector / np.linalg.norm(vector)).astype(np.float32)
