"""Who stays and what it carries, against plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup.representatives import absorb
from operators.frames import FUSED, check

Make = Callable[..., pl.DataFrame]


@st.composite
def representatives(draw: st.DrawFn) -> list[int]:
    """For each row itself or an earlier row that stays."""
    found: list[int] = []
    for number in range(draw(st.integers(0, 12))):
        stay = [n for n, own in enumerate(found) if own == n]
        found.append(draw(st.sampled_from([number, *stay])))
    return found


def source(number: int) -> dict[str, Any]:
    return {"chunk_id": number, "corpus": "wiki", "repo": f"o/{number}"}


@given(representatives(), st.data())
def test_a_row_that_stays_carries_its_duplicates_and_their_alternates(
    make_hits: Make, found: list[int], data: st.DataObject
) -> None:
    carried = [
        [source(100 * n + i) for i in range(1, 1 + data.draw(st.integers(0, 2)))]
        for n in range(len(found))
    ]
    hits = make_hits(
        *({**source(n), "rank": n, "alternate_sources": carried[n]} for n in range(len(found)))
    )
    result = absorb(hits, np.array(found, np.int64))
    check(result, FUSED, "unique")
    expected = []
    for number, own in enumerate(found):
        if own == number:
            others = list(carried[number])
            for other in (n for n, k in enumerate(found) if k == number and n != number):
                others += [source(other), *carried[other]]
            expected.append((number, others))
    assert result.select("chunk_id", "alternate_sources").rows() == expected
