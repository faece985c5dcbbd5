"""Two models of `benchmarks.soak`, between which it migrates: bags of hashed words, two spaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ingestion import Hashes

NAMES = ("python:benchmarks.soak_models:first", "python:benchmarks.soak_models:second")


class Turned(Hashes):
    """The vectors of `Hashes` with their numbers in another order."""

    def __init__(self, number: int) -> None:
        self.model, self.space = NAMES[number], f"soak-{number}"
        self.turned = number

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Bags of hashed words, of length one."""
        vectors = super().embed_documents(texts)
        return np.ascontiguousarray(np.roll(vectors, 7 * self.turned, axis=1))

    embed_queries = embed_documents


def first() -> Any:
    """The model at the start."""
    return Turned(0)


def second() -> Any:
    """The model after an odd number of migrations."""
    return Turned(1)
