"""Stop words that are names, and queries of only stop words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.stop_word_names import only_stop_words, stop_word_names
from operators.foundation.tokenizer import STOP_WORDS, tokens


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("IT is on the second floor.", ["IT"]),
        ("ask IT, HR or the WHO", ["IT", "WHO"]),
        ("我们的IT部门", ["IT"]),
        ("Die Abteilung „IT“ hilft", ["IT"]),
        ("IS_ON = MAKE_IT; do it NOT, ITS", []),
    ],
)
def test_a_name_is_in_capitals(text: str, names: list[str]) -> None:
    assert stop_word_names(text) == names
    assert not {*names} & {*tokens(text)}, "a name is a term of its own"


@given(st.sampled_from(sorted(STOP_WORDS)))
def test_a_stop_word_alone_is_known_as_one(word: str) -> None:
    assert only_stop_words(word)


@pytest.mark.parametrize("text", ["A" * 500_000 + "a", "IT " * 200_000, "WHO" * 200_000])
def test_a_hostile_run_of_capitals_is_read_at_once(text: str) -> None:
    began = time.process_time()
    stop_word_names(text)
    assert time.process_time() - began < 2
