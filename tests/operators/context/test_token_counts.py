from __future__ import annotations

from collections.abc import Sequence
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
    assert token_measure(word_pieces) is word_pieces


def test_an_unknown_vocabulary_falls_back_to_word_pieces() -> None:
    assert token_measure(word_pieces, "none_such") is word_pieces
