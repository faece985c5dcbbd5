from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import settings

from operators.frames import CHUNKS, FUSED, MERGED

# A machine that others use too makes no example slow.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def _rows(plain: dict[str, Any], schema: pl.Schema) -> Callable[..., pl.DataFrame]:
    def make(*rows: dict[str, Any]) -> pl.DataFrame:
        return pl.DataFrame([{**plain, **row} for row in rows], schema=schema)

    return make


@pytest.fixture(scope="session")
def make_chunks() -> Callable[..., pl.DataFrame]:
    """CHUNKS from what differs from a plain row."""
    return _rows({"corpus": "code", "repo": "", "document_id": "d", "text": ""}, CHUNKS)


@pytest.fixture(scope="session")
def make_merged() -> Callable[..., pl.DataFrame]:
    """MERGED from what differs from a plain row."""
    return _rows({"query_id": 0, "corpus": "code", "score": 0.5}, MERGED)


@pytest.fixture(scope="session")
def make_hits() -> Callable[..., pl.DataFrame]:
    """FUSED from what differs from a plain row."""
    plain = {
        "query_id": 0,
        "corpus": "code",
        "repo": "",
        "document_id": "d",
        "source_label": "[code: a]",
        "text": "",
        "score": 0.5,
        "alternate_sources": [],
    }
    return _rows(plain, FUSED)
