from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from operators.frames import FUSED, QUERIES, UNIFIED


@pytest.fixture
def make_queries() -> Callable[..., pl.DataFrame]:
    """A frame of queries from what differs from a plain one."""

    def make(*rows: dict[str, Any]) -> pl.DataFrame:
        plain = {"query_id": 0, "texts": ["q"], "trigger": []}
        return pl.DataFrame([{**plain, **row} for row in rows or ({},)], schema=QUERIES)

    return make


@pytest.fixture
def make_hits() -> Callable[..., pl.DataFrame]:
    """UNIFIED rows (FUSED if they have a score) from what differs from a plain one."""

    def make(*rows: dict[str, Any]) -> pl.DataFrame:
        plain = {
            "query_id": 0,
            "chunk_id": 0,
            "corpus": "code",
            "rank": 0,
            "document_id": "d",
            "repo": "",
            "text": "",
            "corpus_score": 0.5,
            "alternate_sources": [],
        }
        schema = FUSED if any("score" in row for row in rows) else UNIFIED
        return pl.DataFrame([{**plain, **row} for row in rows], schema=schema)

    return make
