"""The interface of an embedding model, and its name.

A model turns texts into unit vectors. Two models' vectors must never be in one index. So a model
has the fingerprint of its vector space: the hash of everything that determines a vector's bits
(weights, tokenizer, pooling, prefixes, window). A collection stores and checks it.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from operators.errors import CrosscorpusError

Vectors = npt.NDArray[np.float32]

_SURROGATES = re.compile("[\ud800-\udfff]")


class EmbeddingError(CrosscorpusError):
    """A text could not be turned into a vector."""


class ModelNotInstalled(EmbeddingError):
    """The model's files are missing or damaged."""


class TextTooLong(EmbeddingError, ValueError):
    """A document text does not fit the model's window; it would have been truncated."""


class Embedder(Protocol):
    """An embedding model; safe to share between threads.

    ``embed_documents`` and ``embed_queries`` take n texts and return an (n, ``dimensions``) float32
    array of unit vectors in the texts' order. The same text gets the same bits whatever else is in
    the call.
    """

    @property
    def model(self) -> str:
        """The displayed and stored name: ``minilm``, ``static``, ``onnx:...``, ``openai:...``."""

    @property
    def space(self) -> str:
        """The vector space's fingerprint, 16 hexadecimal digits."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    @property
    def max_tokens(self) -> int:
        """The maximum :meth:`count_tokens` of a document, without markers and prefix."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count each text's word-pieces, without the markers a model adds and without a prefix."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed up to 1,024 documents; raises :class:`TextTooLong` instead of truncating one."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries of any length."""


def as_given(model: str) -> str:
    """``model`` as a user writes it; the name of a directory model lacks its path.

    >>> as_given("static"), as_given("onnx:bge")
    ('static', "onnx:DIR (the directory of 'bge')")
    """
    kind, _, name = model.partition(":")
    in_directory = kind in ("onnx", "model2vec")
    return f"{kind}:DIR (the directory of {name!r})" if in_directory else model


def space_fingerprint(parts: Mapping[str, object]) -> str:
    """The name of a vector space: the first 16 hexadecimal digits of SHA-256 over its ``parts``.

    >>> space_fingerprint({"pooling": "mean", "weights": "ab"})
    '763b3abe4a1a581e'
    """
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def readable(texts: Sequence[str]) -> list[str]:
    """``texts`` with U+FFFD for each lone surrogate, which no tokenizer accepts."""
    if isinstance(texts, str):
        raise TypeError("a list of texts is needed, not one text")
    return [_SURROGATES.sub("\ufffd", text) for text in texts]


def unit(vectors: Vectors, model: str) -> Vectors:
    """The rows of an (n, d) array, scaled to length 1.

    Raises:
        EmbeddingError: a row is not finite or is zero, so that it has no direction.
    """
    norms = np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1, keepdims=True))
    if not np.isfinite(norms).all() or (norms == 0).any():
        row = int(np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))[0])
        raise EmbeddingError(f"the model {model!r} gave no usable vector for text {row} of a call")
    return np.ascontiguousarray((vectors / norms).astype(np.float32))
