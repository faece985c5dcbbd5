"""Static word vectors: thousands of chunks a second, for quick work.

A text's vector is the mean of its word-pieces' vectors. ``static`` (wordllama, 256 dimensions) has
vectors and tokenizer from the installed package's folder. Nothing imports the package itself: it
sets up the process's logging and can download.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from operators.embedding.protocol import (
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

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self._words.shape[1])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed n texts into (n, dimensions); an empty text counts as one blank."""
        sums = np.empty((len(texts), self.dimensions), np.float32)
        for row, encoding in enumerate(self._encodings([text or " " for text in readable(texts)])):
            # Each text separately, so that its bits don't depend on the batch.
            sums[row] = self._words[encoding.ids].sum(axis=0)
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
