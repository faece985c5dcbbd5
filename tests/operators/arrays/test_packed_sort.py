"""Sorting by packed numbers, against numpy's own sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.packed_sort import BLOCK, blocks, lexorder

spans = st.sampled_from([0, 1, 5, 2**20, 2**40])


@given(st.integers(1, 600), st.lists(spans, min_size=1, max_size=4), st.integers(-5, 2**32))
def test_rows_are_sorted_as_numpy_sorts_them(rows: int, spans: list[int], seed: int) -> None:
    rng = np.random.default_rng(abs(seed))
    columns = [rng.integers(seed, seed + span, rows, endpoint=True) for span in spans]
    order, key = lexorder(*columns)
    assert order.tolist() == np.lexsort(columns[::-1]).tolist()
    same = np.all([column[order][1:] == column[order][:-1] for column in columns], axis=0)
    assert (key[1:] > key[:-1]).tolist() == (~same).tolist()
    assert (key[1:] >= key[:-1]).all()


@pytest.mark.parametrize("rows", [0, 10, 5 * BLOCK])
@pytest.mark.parametrize("shuffled", [False, True])
def test_blocks_have_all_rows_of_their_queries_in_order(rows: int, shuffled: bool) -> None:
    rng = np.random.default_rng(3)
    lists = [np.sort(rng.integers(0, 900, rows // 4)), np.sort(rng.integers(400, 2000, rows // 4))]
    query_id = np.concatenate([*lists, np.full(rows // 2, 500)])
    query_id = rng.permutation(query_id) if shuffled else query_id
    found = list(blocks(query_id))
    assert np.sort(np.concatenate(found)).tolist() == list(range(len(query_id)))
    for block, following in pairwise(found):
        assert query_id[block].max() < query_id[following].min()
    for block in found:
        within = np.lexsort((np.arange(len(block)), query_id[block]))
        assert (np.diff(block[within])[np.diff(query_id[block[within]]) == 0] > 0).all()
    assert len(found) > 1 or len(query_id) <= 2 * BLOCK
