"""The number of tokens of a text, counted offline.

``tiktoken`` counts as the models that read the context do. It needs the extra ``tokens`` and its
vocabulary on disk (``TIKTOKEN_CACHE_DIR``). Otherwise the embedding model's word-pieces count: a
little more for prose and code, fewer for emoji. A word of over 100 characters, such as a checksum,
is one word-piece, and up to two tokens for three characters: so it is counted.
"""

import importlib
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from operators.context.packing import Measure

# tiktoken names a vocabulary's file by the SHA-1 of its address
_FILES = {"o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790"}

_LONG = re.compile(r"\b\w{101,}")


def token_measure(
    word_pieces: Callable[[Sequence[str]], Sequence[int]], vocabulary: str = "o200k_base"
) -> Measure:
    """How many tokens texts have: by ``vocabulary`` if it is on disk, else by ``word_pieces``."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    name = _FILES.get(vocabulary)
    if folder and name and (Path(folder) / name).is_file() and (exact := _tiktoken(vocabulary)):
        return exact
    return lambda texts: [
        count + 2 * sum(map(len, _LONG.findall(text))) // 3
        for text, count in zip(texts, word_pieces(texts), strict=True)
    ]


@cache
def _tiktoken(vocabulary: str) -> Measure | None:
    try:
        encoding = importlib.import_module("tiktoken").get_encoding(vocabulary)
    except ImportError:
        return None

    def count(texts: Sequence[str]) -> list[int]:
        return [len(tokens) for tokens in encoding.encode_ordinary_batch(list(texts))]

    return count
