"""Stop words that are names, and queries of only stop words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.stop_word_names import asked_names, only_stop_words, stop_word_names
from operators.foundation.tokenizer import STOP_WORDS, tokens


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("IT is on the second floor.", ["IT"]),
        ("ask IT, HR or the WHO", ["IT", "WHO"]),
        ("The Who is played", ["THE", "WHO"]),
        ("the gate OR of a circuit", ["OR"]),
        ("我们的IT部门", ["IT"]),
        ("Die Abteilung „IT“ hilft", ["IT"]),
    ],
)
def test_a_stop_word_in_capitals_is_a_name(text: str, names: list[str]) -> None:
    assert stop_word_names(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE IF NOT EXISTS",
        "THIS IS IT",
        "IS_ON = MAKE_IT",
        "If you can, do it. The end. I Am here",
        "How To Use It With The Server",
        "it's in, who? vitamin A and I",
    ],
)
def test_a_shout_a_heading_and_a_constant_have_no_such_names(text: str) -> None:
    assert stop_word_names(text) == []


@given(st.sampled_from(sorted(STOP_WORDS - {"a", "i"})))
def test_a_query_that_is_one_stop_word_asks_for_its_name(word: str) -> None:
    assert only_stop_words(word)
    name = word.upper()
    assert asked_names(word) == asked_names(name) == stop_word_names(f"ask {name} for help")
    assert name not in tokens(name), "the name is a term of its own"


@pytest.mark.parametrize(
    "text", ["why does it NOT work", "a AND b OR redis", "IF NOT EXISTS", "?", "", "who wrote this"]
)
def test_another_query_asks_for_no_name(text: str) -> None:
    assert asked_names(text) == []


def test_two_acronyms_count_beside_other_words() -> None:
    assert asked_names("phone number of IT, or of the WHO") == ["IT", "WHO"]
    assert asked_names("WHO IS IT, ADMIN") == []


@given(st.text(), st.text())
def test_names_of_two_lines_are_the_names_of_each(one: str, other: str) -> None:
    assert stop_word_names(f"{one}\n{other}") == stop_word_names(one) + stop_word_names(other)


@pytest.mark.parametrize("text", ["A" * 500_000 + "a", "IT " * 200_000, "The " * 200_000 + "x"])
def test_a_hostile_run_of_capitals_is_read_at_once(text: str) -> None:
    began = time.process_time()
    stop_word_names(text)
    asked_names(text)
    assert time.process_time() - began < 2
