"""A cache file of judged queries' vectors, because an experiment runs the same queries many times.

There is one file for each vector space and way of embedding. It may be deleted at any time, because
the model returns the same bits again.
"""

import logging
import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from operators.embedding.cache import text_hash
from operators.embedding.protocol import Embedder, Vectors

log = logging.getLogger(__name__)

MOST_VECTORS = 50_000
"""Maximum vectors a file; the oldest are dropped first."""

_RULES = 2  # raised when questions are embedded in another way


def with_vectors(
    texts: pl.DataFrame, embedder: Embedder, directory: Path | None = None
) -> pl.DataFrame:
    """``texts`` (column text) with the column ``embedding``, the vector of each.

    ``directory`` has the files, and is created if needed; None: no cache. The model embeds only the
    texts that its file lacks. An unreadable or unwritable file is a warning.
    """
    vectors = np.asarray(_vectors(embedder, texts["text"].to_list(), directory), np.float32)
    dtype = pl.Array(pl.Float32, vectors.shape[1])
    return texts.with_columns(pl.Series("embedding", vectors, dtype=dtype))


def _vectors(embedder: Embedder, texts: Sequence[str], directory: Path | None) -> Vectors:
    if directory is None:
        return embedder.embed_queries(texts)
    path = directory / f"{embedder.space}.{_RULES}.npz"
    kept = _read(path, embedder.dimensions)
    keys = [text_hash(text) for text in texts]
    if missing := {key: text for key, text in zip(keys, texts, strict=True) if key not in kept}:
        kept |= zip(missing, embedder.embed_queries(list(missing.values())), strict=True)
        _write(path, kept)
    return np.stack([kept[key] for key in keys]) if keys else embedder.embed_queries(texts)


def _read(path: Path, dimensions: int) -> dict[bytes, Vectors]:
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as file:
            hashes, vectors = file["hashes"], file["vectors"]
        if vectors.dtype != np.float32 or vectors.shape != (len(hashes), dimensions):
            raise ValueError("another shape")
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        log.warning("%s is not readable (%s): the queries are embedded again", path, error)
        return {}
    return {row.tobytes(): vector for row, vector in zip(hashes, vectors, strict=True)}


def _write(path: Path, kept: dict[bytes, Vectors]) -> None:
    """Replace the file atomically, so that a reader sees the old or the new one."""
    last = list(kept.items())[-MOST_VECTORS:]
    hashes = np.frombuffer(b"".join(key for key, _ in last), np.uint8).reshape(len(last), -1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            np.savez(file, hashes=hashes, vectors=np.stack([vector for _, vector in last]))
        os.replace(file.name, path)
    except OSError as error:
        log.warning("the vectors of the queries were not kept: %s", error)
