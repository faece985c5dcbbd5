import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
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


@given(st.lists(st.integers(1, 8), min_size=1, max_size=12))
def test_the_lowest_p_is_that_of_queries_that_all_changed_the_same_way(gains):
    p = randomisation_p(np.array(gains, float)[:, None])[0]
    assert p == lowest_p(len(gains))


def test_a_drawn_p_is_not_below_the_lowest():
    drawn = randomisation_p(np.ones((40, 1)), permutations=99)[0]
    assert drawn == lowest_p(40, permutations=99) == 1 / 100


def test_a_drawn_p_is_close_to_the_exact_one():
    values = np.random.default_rng(3).normal(0.4, 1.0, (14, 1))
    exact = randomisation_p(values, permutations=2**14)[0]
    drawn = randomisation_p(values, permutations=10_000)[0]
    assert exact == pytest.approx(brute_force_p(values[:, 0].tolist()))
    assert drawn == pytest.approx(exact, abs=0.01)
    assert drawn != exact


@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 3)), elements=eighths))
def test_swapping_the_systems_changes_no_p_and_turns_the_interval(values):
    def ends(differences):
        return bootstrap_means(differences, resamples=300)

    assert (
        randomisation_p(values, permutations=500) == randomisation_p(-values, permutations=500)
    ).all()
    np.testing.assert_allclose(ends(values)[0], -ends(-values)[1], atol=1e-12)


@given(st.integers(0, 30), st.integers(1, 3))
@settings(deadline=None)
def test_identical_systems_have_p_one_and_no_difference(rows, columns):
    nothing = np.zeros((rows, columns))
    assert (randomisation_p(nothing) == 1).all()
    low, high = bootstrap_means(nothing, resamples=50)
    assert (np.isnan(low) if rows == 0 else low == 0).all()
    assert (np.isnan(high) if rows == 0 else high == 0).all()


def test_a_p_is_never_zero():
    assert 0 < randomisation_p(np.full((200, 1), 0.5))[0] < 1e-4


def test_columns_are_tested_as_if_alone():
    values = np.random.default_rng(5).normal(0.1, 1.0, (60, 3))
    together = randomisation_p(values, permutations=2_000)
    alone = [randomisation_p(values[:, [at]], permutations=2_000)[0] for at in range(3)]
    np.testing.assert_array_equal(together, alone)


def test_an_interval_is_that_of_means_resampled_one_by_one():
    values = np.random.default_rng(7).normal(0.3, 1.0, (40, 2))
    low, high = bootstrap_means(values, resamples=4_000)
    random = np.random.default_rng(1)
    means = [values[random.integers(40, size=40)].mean(axis=0) for _ in range(4_000)]
    np.testing.assert_allclose(low, np.quantile(means, 0.025, axis=0), atol=0.03)
    np.testing.assert_allclose(high, np.quantile(means, 0.975, axis=0), atol=0.03)
    normal = 1.96 * values.std(axis=0) / np.sqrt(40)
    np.testing.assert_allclose((high - low) / 2, normal, rtol=0.1)


def test_the_same_values_give_the_same_numbers_in_slices_of_any_size(monkeypatch):
    values = np.random.default_rng(9).normal(0, 1, (30, 2))
    first = bootstrap_means(values, resamples=500)
    monkeypatch.setattr("operators.evaluation.statistics._AT_ONCE", 1_000)
    np.testing.assert_array_equal(first, bootstrap_means(values, resamples=500))


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_correction_keeps_the_order_and_only_raises(given_p):
    p = np.array(given_p)
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= 1).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(corrected[order]) >= 0).all()
    assert corrected.min() == min(1.0, p.min() * len(p))


def test_correction_is_the_step_down_of_holm():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


@pytest.mark.parametrize("wrong", [np.array([[np.nan]]), np.array([1.0])])
def test_what_is_no_table_of_numbers_is_refused(wrong):
    with pytest.raises(ValueError, match=r"NaN|dimensions"):
        randomisation_p(wrong)


def test_an_exact_p_is_that_of_scipy():
    values = np.random.default_rng(7).normal(0.3, 1.0, 12)
    oracle = scipy.stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert randomisation_p(values[:, None])[0] == pytest.approx(oracle.pvalue)


def test_an_interval_is_that_of_scipy_within_the_noise_of_its_draws():
    values = np.random.default_rng(7).beta(0.5, 0.5, 200)
    oracle = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    low, high = bootstrap_means(values[:, None], resamples=20_000)
    assert (low[0], high[0]) == pytest.approx((oracle.low, oracle.high), abs=0.003)


def test_corrected_p_values_are_those_of_a_hand_made_table():
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
