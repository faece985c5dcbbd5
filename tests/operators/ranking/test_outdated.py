"""What passages that newer versions lack are worth."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.frames import VERSION_SCOPE
from operators.ranking.recency import outdated

Make = Callable[..., pl.DataFrame]
GONE = datetime(2022, 1, 1, tzinfo=UTC)
EARLY, LATE = datetime(2021, 1, 1, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC)


def factor(make_hits: Make, make_queries: Make, scope: dict[str, Any], **query: Any) -> float:
    hits = make_hits({"version": "1.0", "last_version": "1.0", "superseded_at": GONE}, {})
    frame = pl.DataFrame([{"query_id": 0, **scope}], schema=VERSION_SCOPE)
    gone, plain = outdated(hits, make_queries(query), frame, weight=0.5)
    assert plain == 1.0
    return float(gone)


@pytest.mark.parametrize(
    ("scope", "as_of", "expected"),
    [
        ({"version_policy": "newest"}, None, 0.5),
        ({"version_policy": "all"}, None, 1.0),
        ({"version_policy": "pinned", "pinned": [["1.0"]]}, None, 1.0),
        ({"version_policy": "pinned", "pinned": [["2.0"]]}, None, 0.5),
        ({"version_policy": "as_of"}, EARLY, 1.0),
        ({"version_policy": "as_of"}, LATE, 0.5),
        ({"version_policy": "as_of", "versions_as_of": EARLY}, None, 1.0),
    ],
)
def test_a_passage_counts_less_where_the_asked_version_lacks_it(
    make_hits: Make, make_queries: Make, scope: dict[str, Any], as_of: Any, expected: float
) -> None:
    assert factor(make_hits, make_queries, scope, as_of=as_of) == expected
