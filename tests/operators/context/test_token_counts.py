from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha512
from pathlib import Path

import pytest

from operators.context.token_counts import token_measure


def word_pieces(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_without_a_vocabulary_on_disk_word_pieces_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    assert token_measure(word_pieces)(["a b", ""]) == [2, 0]
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert token_measure(word_pieces)(["a b", ""]) == [2, 0]


def test_an_unknown_vocabulary_falls_back_to_word_pieces() -> None:
    assert token_measure(word_pieces, "none_such")(["a b", ""]) == [2, 0]


def test_a_word_too_long_for_word_pieces_costs_what_a_model_reads() -> None:
    checksum = sha512(b"").hexdigest()  # 128 characters, 76 tokens of o200k_base
    counted = token_measure(word_pieces, "none_such")
    assert counted([f"of {checksum}", f"of {checksum[:100]}"]) == [2 + 85, 2]
