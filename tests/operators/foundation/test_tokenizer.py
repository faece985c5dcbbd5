import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.tokenizer import (
    MAX_TOKEN_LENGTH,
    STOP_WORDS,
    TERM_ID_LIMIT,
    is_name,
    term_id,
    tokens,
    words,
)


def test_an_identifier_gives_its_parts_and_the_whole() -> None:
    assert tokens("HTTPServer.makeFile") == [
        "http",
        "server",
        "httpserver",
        "make",
        "file",
        "makefile",
    ]
    assert tokens("snake_case_name") == ["snake", "case", "name", "snake_case_name"]


def test_words_of_prose_are_stemmed_and_stop_words_left_out() -> None:
    assert tokens("The caches were flushed") == ["cach", "flush"]


@pytest.mark.parametrize("stop_word", sorted(STOP_WORDS))
def test_a_stop_word_alone_gives_no_term(stop_word: str) -> None:
    assert tokens(stop_word.upper()) == []


def test_a_stop_word_inside_an_identifier_does_not_hide_the_identifier() -> None:
    assert "is_on" in tokens("is_on")


def test_letters_beyond_ascii_stay_together() -> None:
    assert tokens("Größe 日本語 naïve") == ["größe", "日本語", "naïv"]


@pytest.mark.parametrize(
    "text",
    ["httpx 0.28.0", "v0.28.0", "in 0.28.0.", "(0.28.0)", "httpx-0.28.0.tar.gz", "0.28.0rc1"],
)
def test_a_number_with_dots_is_a_term_beside_its_parts(text: str) -> None:
    assert {"0.28.0", "0", "28"} <= set(tokens(text))


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=8))
def test_every_number_with_dots_is_one_word_and_one_term(numbers: list[int]) -> None:
    dotted = ".".join(map(str, numbers))
    assert list(words(f"at {dotted}.")) == ["at", dotted]
    assert is_name(dotted)
    assert tokens(f"at {dotted}.") == [*map(str, numbers), dotted[:MAX_TOKEN_LENGTH]]


def test_dots_between_words_and_a_sentences_last_dot_join_nothing() -> None:
    assert tokens("config.py x.y.z is 3. 4 1..5") == ["config", "py", *"xyz3415"]


@pytest.mark.parametrize("text", ["1." * 50_000, "1" * 100_000 + ".1", "1.1a" * 50_000])
def test_a_hostile_row_of_digits_and_dots_is_read_at_once(text: str) -> None:
    begin = time.monotonic()
    tokens(text)
    assert time.monotonic() - begin < 5


@given(st.text())
def test_any_text_gives_bounded_lower_case_terms_with_valid_ids(text: str) -> None:
    for token in tokens(text):
        assert 0 < len(token) <= MAX_TOKEN_LENGTH * 3
        assert 1 <= term_id(token) <= TERM_ID_LIMIT


@given(st.text(), st.text())
def test_terms_of_two_lines_are_the_terms_of_each(first: str, second: str) -> None:
    assert tokens(f"{first}\n{second}") == tokens(first) + tokens(second)


def test_term_ids_are_the_same_in_every_process() -> None:
    assert term_id("cache") == 726_837_586
