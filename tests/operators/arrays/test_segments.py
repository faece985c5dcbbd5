from __future__ import annotations

from itertools import accumulate, groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.segments import changes, lengths, offsets, places, positions, starts

small = st.lists(st.integers(0, 5), max_size=12)


@given(small.map(sorted))
def test_each_segment_has_a_start_a_length_and_places_from_zero(values: list[int]) -> None:
    column = np.array(values, np.int64)
    sizes = [len(list(group)) for _, group in groupby(values)]
    begins = [0, *accumulate(sizes)][: len(sizes)]
    assert starts(column).tolist() == begins
    assert lengths(starts(column), len(column)).tolist() == sizes
    assert places(column).tolist() == [place for size in sizes for place in range(size)]


@given(small)
def test_a_value_changes_where_it_differs_from_the_one_before(values: list[int]) -> None:
    found = changes(np.array(values, np.int64)).tolist()
    assert found == [n == 0 or values[n] != values[n - 1] for n in range(len(values))]


@given(small)
def test_offsets_are_the_running_sums(counts: list[int]) -> None:
    assert offsets(np.array(counts, np.int64)).tolist() == [0, *accumulate(counts)]


@given(small, small)
def test_a_position_is_that_of_the_first_equal_key(keys: list[int], wanted: list[int]) -> None:
    found = positions(np.array(keys, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [keys.index(one) if one in keys else -1 for one in wanted]
