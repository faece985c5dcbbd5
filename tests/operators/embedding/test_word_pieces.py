from __future__ import annotations

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from operators.embedding.word_pieces import AT_ONCE, count_tokens, token_offsets


def tokenizer() -> Tokenizer:
    made = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return made


def test_each_text_is_counted_however_many_there_are() -> None:
    texts = ["a b c", "", "a"] * AT_ONCE
    assert count_tokens(tokenizer(), texts) == [3, 0, 1] * AT_ONCE


def test_offsets_are_in_characters_also_behind_a_lone_surrogate() -> None:
    assert token_offsets(tokenizer(), "é \ud800 b")[-1] == (4, 5)
