"""How much the words of a question count."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.tokenizer import STOP_WORDS
from operators.frames import LEXICAL_WEIGHT, QUERIES, check
from operators.ranking.lexical_weight import confidence, lexical_weights, of_rows

PLAIN = [f"word{letter}" for letter in "abcdefghijkl"]
words = st.lists(st.sampled_from(PLAIN), min_size=3, max_size=12, unique=True)


def asked(*texts: list[str]) -> pl.DataFrame:
    rows = [{"query_id": number, "texts": given} for number, given in enumerate(texts)]
    return pl.DataFrame(rows, schema=QUERIES)


@given(words, st.integers(1, 12))
def test_plain_words_count_by_their_share_of_enough(some: list[str], enough: int) -> None:
    assert confidence(" ".join(some), enough) == min(len(some) / enough, 1.0) ** 6


@given(words, st.sampled_from(PLAIN), st.integers(0, 12))
def test_another_word_never_lowers_the_confidence(some: list[str], one: str, enough: int) -> None:
    assert confidence(" ".join([*some, one]), enough) >= confidence(" ".join(some), enough)


@given(words, st.sampled_from(sorted(STOP_WORDS)), st.sampled_from(PLAIN))
def test_stop_words_and_words_said_twice_do_not_count(some: list[str], stop: str, one: str) -> None:
    again = some[0].upper()
    assert confidence(" ".join([stop, *some, again]), 12) == confidence(" ".join(some), 12)


@pytest.mark.parametrize(
    "text",
    [
        "flush",
        "the cache flush",
        "",
        "why is it",
        "what calls makeFile here now",
        "where is max_size read",
        "sha256 of one string",
        "HTTPServer stops with an error",
    ],
)
def test_one_or_two_words_and_names_as_in_code_are_looked_up_to_the_letter(text: str) -> None:
    assert confidence(text, 8) == 1.0


def test_where_no_number_of_words_is_asked_all_questions_count_in_full() -> None:
    assert confidence("how to print three numbers", 0) == 1.0
    assert confidence("how to print three numbers", 8) < 0.1


def test_of_several_texts_of_a_question_the_one_that_counts_most_decides() -> None:
    short = "print three numbers"
    found = lexical_weights(asked([short], [short, "print_three"], []), full_weight_terms=6)
    check(found, LEXICAL_WEIGHT, "lexical_weight")
    assert found["lexical_weight"].to_list() == [0.5**6, 1.0, 1.0]


def test_rows_get_the_factor_of_their_question_and_one_where_none_is_known() -> None:
    factors = pl.DataFrame(
        {"query_id": [7, 3], "lexical_weight": [0.5, 0.25]}, schema=LEXICAL_WEIGHT
    )
    rows = np.array([3, 3, 7, 9], np.uint32)
    assert of_rows(factors, rows).tolist() == [0.25, 0.25, 0.5, 1.0]
    assert of_rows(None, rows).tolist() == [1.0] * 4
