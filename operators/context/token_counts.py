"""The number of tokens of a text, counted offline.

``tiktoken`` counts like the models that read the context. It needs the extra ``tokens`` and its
vocabulary on disk (``TIKTOKEN_CACHE_DIR``). Otherwise the embedding model's word-pieces count: a
few more for prose and code. A word of over 100 characters, such as a checksum, is one word-piece
but up to two tokens per three characters, and emoji in a row are one but up to four tokens each:
these upper bounds are added.
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
_EMOJI = re.compile("[\U00010000-\U0010ffff]")

_PIECE = re.compile(
    rb"([\0-\x08\x0e-\x1f])"  # of a control character
    rb"|[^0-9A-Za-z\n\x80-\xff]?(?<![a-z])[A-Z]?[a-z]{1,9}|[a-z]{1,2}|[A-Z]{1,2}| +|.",
    re.DOTALL,
)


def head(text: str, most: int) -> str:
    """The start of ``text`` with at most ``most`` tokens, estimated without a vocabulary.

    A byte that is not ASCII is one: no common tokenizer makes more of it. So are a digit, a sign,
    and a word's first nine letters together; then every two. A control character is three, as in
    JSON. Four tokenizers (o200k, cl100k, Claude's of 2023, DeepSeek's) count fewer in code, prose,
    logs and tables as JSON; up to a sixth more in base64, half more in random words of few letters.
    """
    encoded, end = text.encode(), 0
    for piece in _PIECE.finditer(encoded):
        most -= 3 if piece[1] else 1
        if most < 0:
            break
        end = piece.end()
    return encoded[:end].decode(errors="ignore")


def token_bound(text: str) -> int:
    """The tokens of ``text``, as :func:`head` estimates them."""
    return sum(3 if piece[1] else 1 for piece in _PIECE.finditer(text.encode()))


def token_measure(
    word_pieces: Callable[[Sequence[str]], Sequence[int]], vocabulary: str = "o200k_base"
) -> Measure:
    """Counts tokens of texts: by ``vocabulary`` if it is on disk, else by ``word_pieces``."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR")
    name = _FILES.get(vocabulary)
    if folder and name and (Path(folder) / name).is_file() and (exact := _tiktoken(vocabulary)):
        return exact
    return lambda texts: [
        count + 2 * sum(map(len, _LONG.findall(text))) // 3 + 4 * len(_EMOJI.findall(text))
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
