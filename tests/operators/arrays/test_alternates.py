from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from operators.arrays.alternates import with_alternates
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
