"""How much the words of a question count."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.tokenizer import STOP_WORDS
from operators.frames import (
    BEST_MATCH,
    LEXICAL_WEIGHT,
    QUERIES,
    TEXT_LISTS,
    VECTOR_LISTS,
    check,
    empty,
)
from operators.ranking.lexical_weight import (
    best_match,
    lexical_weights,
    match_weights,
    of_rows,
    text_weight,
)

PLAIN = [f"word{letter}" for letter in "abcdefghijkl"]
words = st.lists(st.sampled_from(PLAIN), min_size=3, max_size=12, unique=True)


def asked(*texts: list[str]) -> pl.DataFrame:
    rows = [{"query_id": number, "texts": given} for number, given in enumerate(texts)]
    return pl.DataFrame(rows, schema=QUERIES)


@given(words, st.integers(1, 12))
def test_plain_words_count_by_their_share_of_enough(some: list[str], enough: int) -> None:
    assert text_weight(" ".join(some), enough) == min(len(some) / enough, 1.0) ** 6


@given(words, st.sampled_from(PLAIN), st.integers(0, 12))
def test_another_word_never_lowers_the_text_weight(some: list[str], one: str, enough: int) -> None:
    assert text_weight(" ".join([*some, one]), enough) >= text_weight(" ".join(some), enough)


@given(words, st.sampled_from(sorted(STOP_WORDS)), st.sampled_from(PLAIN))
def test_stop_words_and_words_said_twice_do_not_count(some: list[str], stop: str, one: str) -> None:
    again = some[0].upper()
    assert text_weight(" ".join([stop, *some, again]), 12) == text_weight(" ".join(some), 12)


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
    assert text_weight(text, 8) == 1.0


def test_where_no_number_of_words_is_asked_all_questions_count_in_full() -> None:
    assert text_weight("how to print three numbers", 0) == 1.0
    assert text_weight("how to print three numbers", 8) < 0.1


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


NEAR = pl.DataFrame([(3, 0, 1, 0, 0.25), (3, 1, 2, 0, 0.5)], schema=VECTOR_LISTS, orient="row")
WORDS = pl.DataFrame(
    [(3, 0, 1, 0, 5.0, 0.5), (4, 0, 9, 0, 2.0, 0.25)],
    schema={**TEXT_LISTS, "coverage": pl.Float64},
    orient="row",
)


def test_the_best_match_of_a_question_is_that_of_all_its_texts() -> None:
    found = check(best_match({"vector": NEAR, "text": WORDS}), BEST_MATCH, "best_match")
    assert found.rows() == [(3, 0.75, 0.5), (4, None, 0.25)]


@pytest.mark.parametrize(
    "lists",
    [{"vector": NEAR}, {"vector": NEAR, "text": WORDS.drop("coverage")}],
    ids=["not searched by words", "a search that does not know it"],
)
def test_without_a_coverage_none_is_known(lists: dict[str, pl.DataFrame]) -> None:
    assert best_match(lists).rows() == [(3, 0.75, None)]
    empties = {"vector": empty(VECTOR_LISTS), "text": empty(TEXT_LISTS)}
    assert best_match(empties).is_empty()


shares = st.none() | st.floats(0, 1)


@given(st.floats(0, 1), st.lists(st.tuples(shares, shares), max_size=3), st.floats(0.01, 1))
def test_words_that_find_as_good_a_match_count_in_full_and_never_less_than_before(
    weight: float, found: list[tuple[float | None, float | None]], margin: float
) -> None:
    prior = pl.DataFrame([(5, weight)], schema=LEXICAL_WEIGHT, orient="row")
    matches = [
        pl.DataFrame([(5, near, share)], schema=BEST_MATCH, orient="row") for near, share in found
    ]
    raised = match_weights(prior, [*matches, empty(BEST_MATCH)], margin=margin)
    check(raised, LEXICAL_WEIGHT, "lexical_weight")
    (value,) = raised["lexical_weight"]
    assert weight <= value <= 1
    nearest = max((near for near, _ in found if near is not None), default=None)
    covered = max((share for _, share in found if share is not None), default=None)
    if nearest is None or covered is None or covered <= nearest - margin:
        assert value == weight
    elif covered >= nearest:
        assert value == 1
    assert match_weights(prior, matches or [empty(BEST_MATCH)], margin=0).equals(prior)
