"""A passage that the asked version lacks counts less."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.frames import FUSED
from tests.support.ordering import asked, ordered, scope_of

GONE = datetime(2022, 1, 1, tzinfo=UTC)
EARLY, LATE = datetime(2021, 1, 1, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)


def factor(scope: dict[str, Any], **query: Any) -> float:
    rows = [{"version": "1.0", "last_version": "1.0", "superseded_at": GONE}, {}]
    made = [
        {"query_id": 0, "chunk_id": n, "rank": n, "score": 1.0, **row} for n, row in enumerate(rows)
    ]
    queries = asked("how?", **query)
    hits = pl.DataFrame(made, schema=FUSED)
    found = ordered(hits, queries, {"superseded": 0.5}, scope_of(queries, **scope))
    scores = dict(found["chunk_id", "score"].iter_rows())
    assert scores[1] == 1.0
    return scores[0]


@pytest.mark.parametrize(
    ("scope", "as_of", "expected"),
    [
        ({"version_policy": "newest"}, None, 0.5),
        ({"version_policy": "all"}, None, 1.0),
        ({"version_policy": "pinned", "pinned": [["2.0"]]}, None, 0.5),
        ({"version_policy": "as_of"}, EARLY, 1.0),
        ({"version_policy": "as_of"}, LATE, 0.5),
    ],
)
def test_a_passage_counts_less_where_the_asked_version_lacks_it(
    scope: dict[str, Any], as_of: Any, expected: float
) -> None:
    assert factor(scope, as_of=as_of) == expected
