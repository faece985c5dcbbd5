"""The cache of query vectors: a model always returns the same vector for a text."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from operators.embedding.protocol import Vectors

Embed = Callable[[Sequence[str]], Vectors]


def text_hash(text: str) -> bytes:
    """The hash of the exact text that is embedded: SHA-256 of its UTF-8, 32 bytes.

    With a space it is the key of a stored vector; a model's prefix is part of the space.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class QueryCache:
    """The vectors of the last ``capacity`` query texts of one model; thread-safe.

    It keeps only the text's hash, so that a few huge questions cannot fill the memory. Two threads
    that miss the same text at once both embed it, and get the same vector.
    """

    def __init__(self, capacity: int = 4096) -> None:
        """Cache up to ``capacity`` vectors; 0 disables the cache."""
        self._capacity = capacity
        self._lock = threading.Lock()
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    def __len__(self) -> int:
        """The number of cached vectors."""
        return len(self._vectors)

    def vectors(self, texts: Sequence[str], embed: Embed, dimensions: int) -> Vectors:
        """The (n, d) array of ``texts``; calls ``embed`` once, for those not in the cache."""
        if isinstance(texts, str):
            raise TypeError("a list of texts is needed, not one text")
        keys = [text_hash(text) for text in texts]
        by_key: dict[bytes, Vectors] = {}
        with self._lock:
            for key in keys:
                if key in self._vectors:
                    self._vectors.move_to_end(key)
                    by_key[key] = self._vectors[key]
        if missing := {k: text for k, text in zip(keys, texts, strict=True) if k not in by_key}:
            by_key |= zip(missing, embed(list(missing.values())), strict=True)
            with self._lock:
                for key in missing:
                    # A copy: a row would keep its whole batch alive.
                    self._vectors[key] = by_key[key].copy()
                    self._vectors.move_to_end(key)
                while len(self._vectors) > self._capacity:
                    self._vectors.popitem(last=False)
        if not keys:
            return np.empty((0, dimensions), np.float32)
        return np.stack([by_key[key] for key in keys])
