"""Lists, rows and segments of arrays against what plain Python makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.alternates import with_alternates
from operators.arrays.lists import flat, lists, numbers
from operators.arrays.rows import chunk_rows
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


keys = st.lists(st.tuples(st.sampled_from(["code", "wiki"]), st.integers(-2, 2)), max_size=8)


@given(keys.map(lambda rows: list(dict.fromkeys(rows))), keys)
def test_a_chunks_row_is_that_of_its_own_corpus(
    held: list[tuple[str, int]], wanted: list[tuple[str, int]]
) -> None:
    schema = {"corpus": pl.String, "chunk_id": pl.Int64}
    chunks, asked = (pl.DataFrame(rows, schema, orient="row") for rows in (held, wanted))
    found = chunk_rows(chunks, asked["corpus"], asked["chunk_id"].to_numpy())
    assert found.tolist() == [held.index(one) if one in held else -1 for one in wanted]
