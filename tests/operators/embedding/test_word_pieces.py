from __future__ import annotations

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from operators.embedding.word_pieces import AT_ONCE, WordPieces


class Pieces(WordPieces):
    def __init__(self) -> None:
        self._tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        self._tokenizer.pre_tokenizer = Whitespace()


def test_each_text_is_counted_however_many_there_are() -> None:
    texts = ["a b c", "", "a"] * AT_ONCE
    assert Pieces().count_tokens(texts) == [3, 0, 1] * AT_ONCE


def test_a_lone_surrogate_is_one_unknown_piece() -> None:
    assert Pieces().count_tokens(["é \ud800 b"]) == [3]
