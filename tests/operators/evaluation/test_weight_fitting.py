"""Weights fitted to judged questions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_queries import BASE, made

from operators.evaluation import weight_fitting
from operators.evaluation.candidates import together

WEIGHTS = [name for name in BASE if name.startswith("weight")]


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=40).filter(
        lambda g: len(set(g)) > 1
    ),
    st.integers(0, 9),
)
def test_no_group_is_on_both_sides_and_every_query_is_on_one(groups: list[str], seed: int) -> None:
    training, test = weight_fitting.halves(groups, seed=seed)
    assert sorted([*training, *test]) == list(range(len(groups)))
    assert len(training)
    assert len(test)
    assert not {groups[n] for n in training} & {groups[n] for n in test}


def test_one_group_cannot_be_split() -> None:
    with pytest.raises(weight_fitting.TooFewQueries):
        weight_fitting.halves(["a", "a"])


def test_a_corpus_that_is_always_right_gains_weight_and_left_out_questions_confirm_it() -> None:
    all_of_them = made(40)
    groups = list(all_of_them.query_ids)
    found = weight_fitting.learn(all_of_them, groups, BASE, WEIGHTS)
    assert found.strength is not None
    assert found.gains[found.strength][0] > 0.1
    ratio = found.parameters["weight.wiki.question"] / found.parameters["weight.code.question"]
    assert ratio < 1.0
    others = made(40, seed=2)
    gained = weight_fitting.ndcg(others, found.parameters) - weight_fitting.ndcg(others, BASE)
    assert gained.mean() > 0.1


def test_where_nothing_can_be_gained_nothing_is_changed() -> None:
    all_of_them = made(20, right="wiki")
    found = weight_fitting.learn(all_of_them, list(all_of_them.query_ids), BASE, WEIGHTS)
    assert found.strength is None
    assert found.parameters == BASE


def test_a_gain_within_its_own_error_changes_nothing() -> None:
    one, other = made(10), made(9, right="wiki", seed=2)
    renamed = tuple(f"other-{name}" for name in other.query_ids)
    mixed = together(one, replace(other, query_ids=renamed))
    found = weight_fitting.learn(mixed, list(mixed.query_ids), BASE, WEIGHTS)
    assert found.strength is None
    assert found.parameters == BASE


def test_a_question_that_is_there_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_fitting, "STRENGTHS", (0.0,))
    once = made(40)
    twice = together(once, once)
    gains = [
        weight_fitting.learn(one, list(one.query_ids), BASE, WEIGHTS).gains[0.0]
        for one in (once, twice)
    ]
    assert gains[0] == pytest.approx(gains[1])


def test_what_a_list_lacks_can_be_learned() -> None:
    """The judged document is in the list of words only, just behind what both lists have."""
    grown = {**BASE, "missing_score_fraction": 0.5, "weight.wiki.question": 1.0}
    one = made(30, unseen="code")
    found = weight_fitting.learn(one, list(one.query_ids), grown, ["missing_score_fraction"])
    assert found.parameters["missing_score_fraction"] > 0.5
    gained = weight_fitting.ndcg(one, found.parameters) - weight_fitting.ndcg(one, grown)
    assert gained.mean() > 0.1


def test_a_corpus_that_is_turned_off_stays_so() -> None:
    off = {**BASE, "weight.code.question": 0.0}
    one = made(20)
    found = weight_fitting.learn(one, list(one.query_ids), off, WEIGHTS)
    assert found.parameters["weight.code.question"] == 0.0
    assert weight_fitting.fit(one, off, WEIGHTS, strength=0.0)["weight.code.question"] == 0.0


def test_the_same_questions_and_seed_give_the_same_parameters() -> None:
    first, second = (
        weight_fitting.learn(one, list(one.query_ids), BASE, WEIGHTS, seed=3)
        for one in (made(20),) * 2
    )
    assert first == second
