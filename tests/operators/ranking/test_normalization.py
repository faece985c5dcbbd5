"""The normalisations that are not the classic one; that is tested with the merge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.normalization import NORMALISATIONS, normalise

LIST = np.array([4.0, 2.0, math.nan, 8.0, 8.0, math.nan])
STARTS = np.array([0, 3])


def test_max_divides_by_the_querys_best() -> None:
    assert normalise("max", LIST, STARTS).tolist() == [1.0, 0.5, 0.0, 1.0, 1.0, 0.0]


def test_raw_only_fills_what_is_absent() -> None:
    assert normalise("raw", LIST, STARTS).tolist() == [4.0, 2.0, 0.0, 8.0, 8.0, 0.0]


def test_three_sigma_puts_the_mean_in_the_middle() -> None:
    found = normalise("three_sigma", LIST, STARTS)
    assert found.tolist() == pytest.approx([0.5 + 1 / 6, 0.5 - 1 / 6, 0.0, 0.5, 0.5, 0.0])


@given(
    st.lists(st.lists(st.just(math.nan) | st.floats(-10, 100), min_size=1, max_size=6), max_size=5),
    st.sampled_from(sorted(NORMALISATIONS)),
)
def test_a_query_is_scaled_alike_alone_and_in_company(lists: list[list[float]], name: str) -> None:
    together = np.array([value for one in lists for value in one])
    begins = np.cumsum([0, *map(len, lists)])[:-1]
    found = normalise(name, together, begins)
    alone = [normalise(name, np.array(one), np.array([0])) for one in lists]
    assert found.tolist() == [value for one in alone for value in one]
