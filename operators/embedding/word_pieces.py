"""Word-pieces of texts, by a tokenizer in Hugging Face's format; without its markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from operators.embedding.protocol import readable

AT_ONCE = 512
"""Texts tokenized in one call; their encodings take some 25 kB each."""


def count_tokens(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Count the word-pieces of each text; 0 for an empty one."""
    counts: list[int] = []
    for start in range(0, len(texts), AT_ONCE):
        batch = readable(texts[start : start + AT_ONCE])
        counts += map(len, tokenizer.encode_batch_fast(batch, add_special_tokens=False))
    return counts


def token_offsets(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """Return each word-piece's (start, end) in characters."""
    return list(tokenizer.encode(readable([text])[0], add_special_tokens=False).offsets)
