"""A process that ingests and, at the point it is told, is gone as by ``kill -9``.

Run as a program: ``dying.py DSN COLLECTION SOURCE POINT NUMBER``. The embedder is also what the
tests of this folder use.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.embedding.embedder import EmbeddingError


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

    def token_offsets(self, text: str) -> None:
        return None

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        for text in texts:
            if self.fails_on in text:
                raise EmbeddingError("the model is away")
        self.embedded.extend(texts)
        return np.stack([self._vector(text) for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.full(self.dimensions, 0.01, dtype=np.float32)
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % self.dimensions] += 1
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _dies_at(point: str, number: int, functions: dict[str, Any]) -> None:
    """Have the ``number``-th call, ``before NAME`` or ``after NAME``, be the last thing done."""
    moment, _, name = point.partition(" ")
    holder, attribute = functions[name]
    call = getattr(holder, attribute)
    calls = 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number and moment == "before":
            _die()
        result = call(*args, **kwargs)
        if calls == number and moment == "after":
            _die()
        return result

    setattr(holder, attribute, dying)


def main(dsn: str, collection: str, source: str, point: str, number: str) -> None:
    """Ingest ``source``, a JSONL file or a working tree, and die."""
    import psycopg

    from dataflow.ingestion import embeddings, ingest_documents, ingest_git, run
    from operators.postgres.store import open_store

    functions = {
        "statement": (psycopg.Cursor, "execute"),
        "commit": (psycopg.Transaction, "__exit__"),
        "cache": (embeddings, "cache_embeddings"),
        "delete": (run, "delete_documents"),
        "finish": (run, "finish_load"),
    }
    _dies_at(point, int(number), functions)
    with open_store(dsn, collection, create=True) as store:
        kind = ingest_git if Path(source).is_dir() else ingest_documents
        options: dict[str, Any] = {} if Path(source).is_dir() else {"prune": True}
        kind(
            store,
            WordEmbedder(),
            source,
            batch_documents=5,
            allow_mass_delete=True,
            config={"embed_at_once": 4},
            **options,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
