import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from operators.evaluation.statistics import bootstrap_means, holm, lowest_p, randomisation_p

eighths = st.integers(-8, 8).map(lambda n: n / 8)  # sums are exact


def brute_force_p(differences):
    """The share of all sign patterns whose mean is as far from 0."""
    observed = abs(sum(differences))
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in patterns]
    return sum(abs(total) >= observed for total in sums) / len(patterns)


@given(st.lists(eighths, min_size=1, max_size=9))
def test_a_small_p_is_the_share_of_all_sign_patterns(differences):
    p = randomisation_p(np.array(differences)[:, None])
    assert p[0] == pytest.approx(brute_force_p(differences))


def test_a_drawn_p_is_not_below_the_lowest():
    drawn = randomisation_p(np.ones((40, 1)), permutations=99)[0]
    assert drawn == lowest_p(40, permutations=99) == 1 / 100


@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=eighths))
def test_swapping_the_systems_changes_no_p_and_turns_the_interval(values):
    p = [randomisation_p(one, permutations=500) for one in (values, -values)]
    np.testing.assert_array_equal(*p)
    ends = [bootstrap_means(one, resamples=300) for one in (values, -values)]
    np.testing.assert_allclose(ends[0][0], -ends[1][1], atol=1e-12)


def test_the_same_values_give_the_same_numbers_in_slices_of_any_size(monkeypatch):
    values = np.random.default_rng(9).normal(0, 1, (30, 2))
    first = bootstrap_means(values, resamples=500)
    monkeypatch.setattr("operators.evaluation.statistics._AT_ONCE", 1_000)
    np.testing.assert_array_equal(first, bootstrap_means(values, resamples=500))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_correction_keeps_the_order_and_only_raises(given_p):
    p = np.array(given_p)
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()
    assert corrected.min() == min(1.0, p.min() * len(p))


def test_an_interval_is_that_of_scipy_within_the_noise_of_its_draws():
    import scipy.stats  # half a second, of which no other test has need

    values = np.random.default_rng(7).beta(0.5, 0.5, 200)
    oracle = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    low, high = bootstrap_means(values[:, None], resamples=20_000)
    assert (low[0], high[0]) == pytest.approx((oracle.low, oracle.high), abs=0.003)


def test_corrected_p_values_are_those_of_a_hand_made_table():
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
