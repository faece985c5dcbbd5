"""Token dedup against all pairs of Python sets."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup.jaccard import jaccard_representatives
from operators.dedup.token_index import TokenIndex, hash_sets

thresholds = st.sampled_from([0.05, 0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 1.0])
vocabulary = [f"w{n}" for n in range(30)]


@st.composite
def near_duplicates(draw: st.DrawFn) -> list[str]:
    """Texts of which many differ from another in a few words."""
    base = draw(
        st.lists(st.lists(st.sampled_from(vocabulary), max_size=25), min_size=1, max_size=3)
    )
    texts = []
    for _ in range(draw(st.integers(0, 14))):
        words = list(draw(st.sampled_from(base)))
        for _ in range(draw(st.integers(0, 2))):
            if words:
                place = draw(st.integers(0, len(words) - 1))
                words[place : place + 1] = draw(
                    st.lists(st.sampled_from([*vocabulary, "É", "new"]), max_size=2)
                )
        text = " ".join(words)
        texts.append(text.upper() if draw(st.booleans()) else text)
    return texts


def all_pairs(texts: list[str], threshold: float) -> list[int]:
    """The rule said plainly: a text belongs to the first kept one that is like it."""
    sets = [set(text.lower().split()) for text in texts]
    kept: list[int] = []
    representative = []
    for number, one in enumerate(sets):
        for other in kept:
            both = one | sets[other]
            index = len(one & sets[other]) / len(both) if both else 1.0
            if index >= threshold:
                representative.append(other)
                break
        else:
            kept.append(number)
            representative.append(number)
    return representative


def representatives_of(
    texts: list[str], threshold: float, queries: list[int] | None = None
) -> list[int]:
    begins, tokens = hash_sets(texts)
    sets = TokenIndex(np.arange(len(texts)), begins, tokens)
    query_id = np.array(queries if queries is not None else [0] * len(texts), np.uint32)
    return jaccard_representatives(
        query_id, np.arange(len(texts)), sets, threshold=threshold
    ).tolist()


@given(near_duplicates(), thresholds)
def test_the_same_duplicates_go_as_by_comparing_all_pairs(
    texts: list[str], threshold: float
) -> None:
    assert representatives_of(texts, threshold) == all_pairs(texts, threshold)


@given(st.lists(st.text(max_size=40), max_size=10), thresholds)
def test_any_text_is_treated_as_python_would(texts: list[str], threshold: float) -> None:
    assert representatives_of(texts, threshold) == all_pairs(texts, threshold)


@given(st.lists(near_duplicates(), max_size=4), thresholds)
def test_a_batch_gives_what_its_queries_give_alone(
    queries: list[list[str]], threshold: float
) -> None:
    together = representatives_of(
        [text for texts in queries for text in texts],
        threshold,
        [number for number, texts in enumerate(queries) for _ in texts],
    )
    alone, first = [], 0
    for texts in queries:
        alone += [first + row for row in representatives_of(texts, threshold)]
        first += len(texts)
    assert together == alone


@given(near_duplicates())
def test_what_is_left_has_no_duplicates(texts: list[str]) -> None:
    representative = representatives_of(texts, 0.9)
    left = [text for number, text in enumerate(texts) if representative[number] == number]
    assert representatives_of(left, 0.9) == list(range(len(left)))


def test_long_lists_of_long_texts_lose_the_same_duplicates() -> None:
    rng = random.Random(5)
    words = [f"token{n}" for n in range(4000)]
    texts: list[str] = []
    for _ in range(700):  # more than a block
        if texts and rng.random() < 0.4:
            copied = rng.choice(texts).split(" ")
            for _ in range(rng.randint(0, 30)):
                copied[rng.randrange(len(copied))] = rng.choice(words)
            texts.append(" ".join(copied))
        else:
            texts.append(" ".join(rng.sample(words, rng.choice([5, 40, 120, 250]))))
    expected = all_pairs(texts, 0.9)
    assert 0 < sum(own != n for n, own in enumerate(expected)) < len(texts)
    assert representatives_of(texts, 0.9) == expected


def test_two_empty_texts_are_equal_and_one_equals_nothing() -> None:
    assert representatives_of(["", " \n", "a", "\t"], 0.9) == [0, 0, 2, 0]
    assert representatives_of(["", "a"], 0.01) == [0, 1]


def test_a_duplicate_belongs_to_the_best_it_is_like_even_if_another_is_closer() -> None:
    words = [f"w{n}" for n in range(20)]
    first = " ".join(words)
    second = " ".join([*words[:18], "x", "y"])  # 18 of 22 with the first: stays
    third = " ".join([*words[:19], "x"])  # 19 of 21 with both
    assert representatives_of([first, second, third], 0.9) == [0, 1, 0]


def test_a_loser_removes_nobody() -> None:
    words = [f"w{n}" for n in range(20)]
    texts = [" ".join(words), " ".join([*words[:19], "x"]), " ".join([*words[:18], "x", "y"])]
    assert representatives_of(texts, 0.9) == [0, 0, 2]


def test_many_near_duplicates_cost_no_comparison_of_all_pairs() -> None:
    words = [f"w{n}" for n in range(100)]
    texts = [" ".join([*words, f"n{n}"]) for n in range(3000)]
    begins, tokens = hash_sets(texts)
    sets = TokenIndex(np.arange(3000), begins, tokens)
    began = time.process_time()
    representative = jaccard_representatives(
        np.zeros(3000, np.uint32), np.arange(3000), sets, threshold=0.9
    )
    assert (representative == 0).all()
    assert time.process_time() - began < 10  # all pairs take minutes


@pytest.mark.parametrize("threshold", [0, -1, 1.1, float("nan")])
def test_a_threshold_that_makes_no_sense_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="Jaccard threshold"):
        representatives_of(["a"], threshold)
