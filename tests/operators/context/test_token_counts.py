from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha512
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.token_counts import head, token_measure


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


def test_emoji_in_a_row_cost_what_a_model_reads() -> None:
    assert token_measure(word_pieces, "none_such")(["so \U0001f600\U0001f680"]) == [2 + 8]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(4, 40))
def test_heads_of_what_is_left_are_together_the_text(text: str, most: int) -> None:
    parts, left = [], text
    while left:
        parts.append(head(left, most))
        left = left[len(parts[-1]) :]
        assert sum(len(one.encode()) for one in parts[-1] if not one.isascii()) <= most
        assert parts[-1]
    assert "".join(parts) == text


def test_a_head_counts_words_and_not_the_letters_of_words_alone() -> None:
    prose = "The cache is flushed twice, because a writer may die between the two. " * 400
    assert len(head(prose, 8_000)) == len(prose)
    assert head("\x1b[0m" * 8_000, 9) == "\x1b[0m\x1b"
    assert head("x" * 30, 10) == "x" * 27
