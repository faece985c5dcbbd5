"""Static word vectors: thousands of chunks a second, for quick work.

A text's vector is the mean of its word-pieces' vectors. ``static`` (wordllama, 256 dimensions) has
vectors and tokenizer from the installed package's folder. Nothing imports the package itself: it
sets up the process's logging and can download. ``model2vec:DIR`` has them from a folder that the
package model2vec or sentence-transformers' StaticEmbedding wrote.
"""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from operators.embedding.protocol import (
    EmbeddingError,
    ModelNotInstalled,
    Vectors,
    file_sha256,
    readable,
    space_fingerprint,
    unit,
)
from operators.embedding.word_pieces import WordPieces, read_tokenizer
from operators.foundation.extras import installing

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@dataclass(frozen=True)
class StaticEmbedder(WordPieces):
    """Word vectors in memory; an :class:`operators.embedding.protocol.Embedder`.

    There is no window: a text of any length is embedded completely. ``max_tokens`` is for the
    chunker, because the mean of a longer text is less specific.
    """

    space: str
    _words: Vectors
    _tokenizer: Any
    model: str = "static"
    max_tokens: int = 512
    _unknown: int | None = None
    """The id of an unknown word-piece, if it is left out."""
    _empty: Vectors | None = None
    """The vector of a text without word-pieces, where a blank has none."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._words.shape[1])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed n texts into (n, dimensions); an empty text counts as one blank."""
        sums = np.empty((len(texts), self.dimensions), np.float32)
        for row, encoding in enumerate(self._encodings([text or " " for text in readable(texts)])):
            # Each text separately, so that its bits don't depend on the batch.
            ids = [each for each in encoding.ids if each != self._unknown]
            sums[row] = self._words[ids].sum(axis=0)
            if self._empty is not None and not sums[row].any():
                sums[row] = self._empty
        return unit(sums, self.model)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed n queries into (n, dimensions), in the same way as documents."""
        return self.embed_documents(texts)


def load_static() -> StaticEmbedder:
    """Load wordllama's vectors from its installed package, offline.

    Raises:
        ModelNotInstalled: the extra ``static`` is missing or incomplete.
    """
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotInstalled(f"the model 'static' needs: {installing('static')}")
    return read_static(Path(spec.submodule_search_locations[0]))


def read_static(folder: Path) -> StaticEmbedder:
    """Load the vectors and the tokenizer from a folder with the layout of wordllama's package."""
    from safetensors.numpy import load_file

    weights, tokenizer_file = folder / _WEIGHTS, folder / _TOKENIZER
    for path in (weights, tokenizer_file):
        if not path.is_file():
            raise ModelNotInstalled(f"wordllama's package lacks {path.name}: reinstall wordllama")
    hashes = {"weights": file_sha256(weights), "tokenizer": file_sha256(tokenizer_file)}
    (words,) = load_file(weights).values()
    return StaticEmbedder(
        space=space_fingerprint(hashes | {"pooling": "mean", "normalise": True}),
        _words=words.astype(np.float32),
        _tokenizer=read_tokenizer(tokenizer_file)[0],
    )


def load_model2vec(folder: Path, *, model: str | None = None) -> StaticEmbedder:
    """Load a folder with ``tokenizer.json``, ``model.safetensors`` and, of model2vec, config.json.

    As model2vec, it leaves out unknown word-pieces, gives a word-piece its weight, and lets
    several share a vector (``weights``, ``mapping``). Here vectors always have length 1. A text of
    unknown word-pieces alone gets the mean vector of all.

    Args:
        folder: its ``model.safetensors`` has ``embeddings`` (model2vec) or ``embedding.weight``
            (sentence-transformers).
        model: the name to show; default: ``model2vec:`` and the folder's name.

    Raises:
        ModelNotInstalled: a file is missing.
        EmbeddingError: a file is invalid.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    weights, tokenizer_file = folder / "model.safetensors", folder / "tokenizer.json"
    for path in (weights, tokenizer_file):
        if not path.is_file():
            raise ModelNotInstalled(f"{str(folder)!r} has no {path.name}")
    try:
        tensors = load_file(weights)
    except (OSError, SafetensorError, TypeError) as error:
        raise EmbeddingError(f"cannot read {str(weights)!r}: {error}") from error
    tokenizer, _ = read_tokenizer(tokenizer_file)
    words = _word_vectors(tensors, str(weights))
    if len(words) < tokenizer.get_vocab_size():
        have = f"{len(words)} vectors for {tokenizer.get_vocab_size()} word-pieces"
        raise EmbeddingError(f"{str(folder)!r} has {have}")
    unknown = json.loads(tokenizer.to_str())["model"].get("unk_token")
    if "embedding.weight" in tensors:  # sentence-transformers counts unknown ones
        unknown = None
    hashes = {"weights": file_sha256(weights), "tokenizer": file_sha256(tokenizer_file)}
    left_out = {"unknown": "left out" if unknown else "counts"}
    return StaticEmbedder(
        space=space_fingerprint(hashes | left_out | {"pooling": "mean", "normalise": True}),
        _words=words,
        _tokenizer=tokenizer,
        model=model or f"model2vec:{folder.resolve().name}",
        _unknown=tokenizer.token_to_id(unknown) if unknown else None,
        _empty=words.mean(axis=0),
    )


def _word_vectors(tensors: Mapping[str, Any], file: str) -> Vectors:
    """A vector for each id, (ids, dimensions): looked up and weighted."""
    words = tensors.get("embeddings", tensors.get("embedding.weight"))
    if words is None or words.ndim != 2 or not words.size:
        raise EmbeddingError(f"{file!r} has no table of embeddings")
    words = words.astype(np.float32)
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        if (
            mapping.ndim != 1
            or not mapping.size
            or not 0 <= mapping.min() <= mapping.max() < len(words)
        ):
            raise EmbeddingError(f"{file!r} has a mapping to vectors that are not there")
        words = words[mapping]
    if weights is not None:
        if weights.shape != (len(words),):
            raise EmbeddingError(
                f"{file!r} has {len(weights)} weights for {len(words)} word-pieces"
            )
        words = words * weights.astype(np.float32)[:, None]
    if not np.isfinite(words).all():
        raise EmbeddingError(f"{file!r} has vectors that are not finite")
    return np.ascontiguousarray(words, np.float32)
