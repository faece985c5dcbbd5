from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.rows import by_rank, index, nullable, replaced, take


@pytest.mark.parametrize("count", [3, 20_000])  # gathered as structs, or on several threads
def test_rows_are_taken_in_the_wanted_order(count: int) -> None:
    frame = pl.DataFrame({"a": range(count), "b": [[n] for n in range(count)]})
    rows = np.arange(count)[::-1]
    assert take(frame, rows).equals(frame.reverse())
    assert index(rows).dtype == pl.UInt32


def test_a_replaced_column_keeps_its_place_and_a_new_one_comes_last() -> None:
    frame = pl.DataFrame({"a": [1], "b": [2]})
    found = replaced(frame, pl.Series("a", ["x"]), pl.Series("c", [3]))
    assert found.to_dict(as_series=False) == {"a": ["x"], "b": [2], "c": [3]}
    assert frame.to_dict(as_series=False) == {"a": [1], "b": [2]}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=8))
def test_a_list_comes_by_query_rank_and_chunk(rows: list[tuple[int, int]]) -> None:
    frame = pl.DataFrame(
        {
            "query_id": [query for query, _ in rows],
            "rank": [rank for _, rank in rows],
            "chunk_id": range(len(rows)),
        },
        schema={"query_id": pl.UInt32, "rank": pl.UInt32, "chunk_id": pl.Int64},
    )
    found = by_rank(frame)
    assert found.equals(frame.sort("query_id", "rank", "chunk_id"))
    assert by_rank(found) is found


def test_what_is_no_number_is_null() -> None:
    found = nullable("rank", np.array([1.0, np.nan]), pl.UInt32)
    assert found.to_list() == [1, None]
    assert found.dtype == pl.UInt32
