"""A search along coordinates, on measures that are made up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evaluation import weight_fitting
from operators.evaluation.weight_fitting import Learned, climb, grid, halves

START = {"full_weight_terms": 8, "code.vector_weight": 0.5}
NOISE = np.random.default_rng(3).normal(size=40)


def climbed(measure) -> Learned:
    """``measure`` gives the value of each query from the parameters."""
    return climb(lambda tried, state: (measure(tried), state), START, None)


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=40).filter(
        lambda g: len(set(g)) > 1
    ),
    st.integers(0, 9),
)
def test_no_group_is_on_both_sides_and_every_query_is_on_one(groups: list[str], seed: int) -> None:
    training, test = halves(groups, seed=seed)
    assert sorted([*training, *test]) == list(range(len(groups)))
    assert len(training)
    assert len(test)
    assert not {groups[n] for n in training} & {groups[n] for n in test}


def test_one_group_cannot_be_split() -> None:
    with pytest.raises(weight_fitting.TooFewQueries):
        halves(["a", "a"])


def test_a_parameter_moves_in_steps_to_where_most_queries_are_best() -> None:
    best = climbed(lambda tried: 0.01 * NOISE - abs(tried["code.vector_weight"] - 0.2))
    assert best.changed == {"code.vector_weight": 0.2}
    assert best.gain == pytest.approx(0.3)
    assert best.error == pytest.approx(0)


@pytest.mark.parametrize("mean", [0.05, 0.0005])
def test_a_gain_that_is_small_or_well_within_its_error_changes_nothing(mean: float) -> None:
    spread = 0.001 if mean < 0.001 else 1.0
    gains = spread * (NOISE - NOISE.mean()) + mean
    stayed = climbed(lambda tried: gains * (tried["code.vector_weight"] - 0.5))
    assert stayed == Learned({}, 0.0, 0.0)


def test_each_run_begins_with_the_state_of_the_best_so_far() -> None:
    begun = []

    def run(tried, state):
        begun.append(state)
        return np.full(9, -abs(tried["full_weight_terms"] - 6.0)), tried["full_weight_terms"]

    climb(run, {"full_weight_terms": 8}, 0)
    assert begun[:4] == [0, 8, 8, 6]


def test_a_corpus_that_is_turned_off_stays_so() -> None:
    assert grid("code.weights.question", 0.0) == [0.0]
