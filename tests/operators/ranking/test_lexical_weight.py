"""How much the words of a question count."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.tokenizer import STOP_WORDS
from operators.frames import (
    LEXICAL_WEIGHT,
    QUERIES,
    SCORE_SCALE,
    TEXT_HITS,
    VECTOR_HITS,
    check,
    empty,
)
from operators.question.intent import intent
from operators.ranking.lexical_weight import lexical_weights, match_weights
from operators.ranking.score_scale import score_scale

PLAIN = [f"word{letter}" for letter in "abcdefghijkl"]
words = st.lists(st.sampled_from(PLAIN), min_size=3, max_size=12, unique=True)


def asked(*texts: list[str]) -> pl.DataFrame:
    rows = [{"query_id": number, "texts": given} for number, given in enumerate(texts)]
    return pl.DataFrame(rows, schema=QUERIES)


def weights_of(*texts: list[str], enough: int) -> list[float]:
    queries = asked(*texts)
    found = lexical_weights(intent(queries, queries), full_weight_terms=enough)
    check(found, LEXICAL_WEIGHT, "lexical_weight")
    return found["lexical_weight"].to_list()


def text_weight(text: str, enough: int) -> float:
    (weight,) = weights_of([text], enough=enough)
    return weight


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
        "the cache flush",
        "",
        "what calls makeFile here now",
        "where is max_size read",
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
    texts = ([short], [short, "print_three"], [])
    assert weights_of(*texts, enough=6) == [0.5**6, 1.0, 1.0]


NEAR = pl.DataFrame(
    [(3, "code", 1, 0, 0.25), (3, "code", 2, 1, 0.5)], schema=VECTOR_HITS, orient="row"
)
WORDS = pl.DataFrame(
    [(3, "code", 1, 0, 5.0, 0.5), (4, "code", 9, 0, 2.0, 0.25)],
    schema={**TEXT_HITS, "coverage": pl.Float64},
    orient="row",
)
OF_CORPUS = ("query_id", "space", "similarity", "score", "coverage")


def test_the_best_scores_of_a_question_are_those_of_both_lists() -> None:
    found = check(score_scale(NEAR, WORDS), SCORE_SCALE, "score_scale")
    assert found[OF_CORPUS].rows() == [(3, None, 0.75, 5.0, 0.5), (4, None, None, 2.0, 0.25)]
    assert score_scale(NEAR, WORDS, {"code": "b"})["space"].to_list() == ["b", "b"]


@pytest.mark.parametrize(
    ("words", "score"),
    [(empty(TEXT_HITS), None), (WORDS.filter(query_id=3).drop("coverage"), 5.0)],
    ids=["not searched by words", "a search that does not know it"],
)
def test_without_a_coverage_none_is_known(words: pl.DataFrame, score: float | None) -> None:
    assert score_scale(NEAR, words)[OF_CORPUS].rows() == [(3, None, 0.75, score, None)]
    assert score_scale(empty(VECTOR_HITS), empty(TEXT_HITS)).equals(empty(SCORE_SCALE))


shares = st.none() | st.floats(0, 1)


@given(st.floats(0, 1), st.lists(st.tuples(shares, shares), max_size=3), st.floats(0.01, 1))
def test_words_that_find_as_good_a_match_count_in_full_and_never_less_than_before(
    weight: float, found: list[tuple[float | None, float | None]], margin: float
) -> None:
    prior = pl.DataFrame([(5, weight)], schema=LEXICAL_WEIGHT, orient="row")
    matches = [
        {"query_id": 5, "corpus": f"corpus_{number}", "similarity": near, "coverage": share}
        for number, (near, share) in enumerate(found)
    ]
    scale = pl.DataFrame(matches, schema=SCORE_SCALE)
    raised = match_weights(prior, scale, margin=margin)
    check(raised, LEXICAL_WEIGHT, "lexical_weight")
    (value,) = raised["lexical_weight"]
    assert weight <= value <= 1
    nearest = max((near for near, _ in found if near is not None), default=None)
    covered = max((share for _, share in found if share is not None), default=None)
    if nearest is None or covered is None or covered <= nearest - margin:
        assert value == weight
    elif covered >= nearest:
        assert value == 1
    assert match_weights(prior, scale, margin=0).equals(prior)
    elsewhere = scale.with_columns(space=pl.lit("another model"))
    assert match_weights(prior, elsewhere, margin=margin).equals(prior)
