"""Lists, rows and segments of arrays against what plain Python makes of them."""

from __future__ import annotations

from itertools import accumulate, groupby
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.alternates import with_alternates
from operators.arrays.lists import flat, lists, numbers
from operators.arrays.rows import (
    by_rank,
    by_rank_in_corpora,
    chunk_rows,
    index,
    list_numbers,
    replaced,
    take,
)
from operators.arrays.segments import changes, lengths, offsets, places, positions, starts
from operators.frames import SOURCE


def source(number: int) -> dict[str, Any]:
    label, url = f"[wiki: {number}]", f"https://example.org/{number}"
    return {"chunk_id": number, "corpus": "wiki", "source_label": label, "source_url": url}


def hits(*carried: list[int]) -> pl.DataFrame:
    rows = [
        {**source(number), "alternate_sources": [source(other) for other in others]}
        for number, others in enumerate(carried)
    ]
    return pl.DataFrame(rows, schema={**SOURCE.to_schema(), "alternate_sources": pl.List(SOURCE)})


def alternates(frame: pl.DataFrame) -> list[tuple[int, list[int]]]:
    return [
        (row["chunk_id"], [other["chunk_id"] for other in row["alternate_sources"]])
        for row in frame.iter_rows(named=True)
    ]


@pytest.mark.parametrize("more", [0, 300])  # few lists are made one by one
def test_a_row_carries_its_own_alternates_then_each_other_with_its_own(more: int) -> None:
    frame = hits([10], [], [20, 21], [30], *([] for _ in range(more)))
    kept = np.array([1, 0, *range(4, 4 + more)])
    found = with_alternates(frame, kept, np.array([3, 2]), np.array([1, 1]))
    rest = [(number, []) for number in range(4, 4 + more)]
    assert alternates(found) == [(1, []), (0, [10, 3, 30, 2, 20, 21]), *rest]


def test_without_others_the_rows_are_as_they_were() -> None:
    none = np.zeros(0, np.int64)
    found = with_alternates(hits([10], []), np.array([1, 0]), none, none)
    assert alternates(found) == [(1, []), (0, [10])]


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


in_corpora = st.lists(
    st.tuples(st.sampled_from(["code", "review", "wiki"]), st.integers(0, 2), st.integers(0, 3)),
    max_size=10,
)


def of_corpora(rows: list[tuple[str, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(
        [(*row, number) for number, row in enumerate(rows)],
        schema={
            "corpus": pl.String,
            "query_id": pl.UInt32,
            "rank": pl.UInt32,
            "chunk_id": pl.Int64,
        },
        orient="row",
    )


@given(in_corpora)
def test_lists_of_corpora_come_by_corpus_query_rank_and_chunk(
    rows: list[tuple[str, int, int]],
) -> None:
    frame = of_corpora(rows)
    found = by_rank_in_corpora(frame)
    assert found.equals(frame.sort("corpus", "query_id", "rank", "chunk_id"))
    assert by_rank_in_corpora(found) is found


@given(in_corpora)
def test_each_list_of_a_query_and_corpus_has_one_number(rows: list[tuple[str, int, int]]) -> None:
    numbered = list_numbers(by_rank_in_corpora(of_corpora(rows))).tolist()
    sizes = [len(list(of)) for _, of in groupby(sorted(row[:2] for row in rows))]
    assert numbered == [number for number, size in enumerate(sizes) for _ in range(size)]


keys = st.lists(st.tuples(st.sampled_from(["code", "wiki"]), st.integers(-2, 2)), max_size=8)


@given(keys.map(lambda rows: list(dict.fromkeys(rows))), keys)
def test_a_chunks_row_is_that_of_its_own_corpus(
    held: list[tuple[str, int]], wanted: list[tuple[str, int]]
) -> None:
    schema = {"corpus": pl.String, "chunk_id": pl.Int64}
    chunks, asked = (pl.DataFrame(rows, schema, orient="row") for rows in (held, wanted))
    found = chunk_rows(chunks, asked["corpus"], asked["chunk_id"].to_numpy())
    assert found.tolist() == [held.index(one) if one in held else -1 for one in wanted]


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
