from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.lists import flat, lists, numbers


@given(st.lists(st.integers(0, 3), max_size=300))
def test_lists_are_made_of_values_and_taken_apart_again(sizes: list[int]) -> None:
    owner = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    values = pl.Series("a", np.arange(len(owner)))
    made = lists(values, owner, len(sizes))
    assert [len(one) for one in made.to_list()] == sizes
    again, row = flat(made)
    assert again.to_list() == values.to_list()
    assert row.tolist() == owner.tolist()
    only, owner = numbers(made)
    assert (only.tolist(), owner.tolist()) == (values.to_list(), row.tolist())
