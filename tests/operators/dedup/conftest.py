from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest
from plain_rows import plain_rows

from operators.frames import CHUNKS, FUSED, MERGED


@pytest.fixture(scope="session")
def make_chunks() -> Callable[..., pl.DataFrame]:
    """CHUNKS from what differs from a plain row."""
    return plain_rows({"corpus": "code", "repo": "", "document_id": "d", "text": ""}, CHUNKS)


@pytest.fixture(scope="session")
def make_merged() -> Callable[..., pl.DataFrame]:
    """MERGED from what differs from a plain row."""
    return plain_rows({"query_id": 0, "corpus": "code", "score": 0.5}, MERGED)


@pytest.fixture(scope="session")
def make_hits() -> Callable[..., pl.DataFrame]:
    """FUSED from what differs from a plain row."""
    plain = {
        "query_id": 0,
        "corpus": "code",
        "repo": "",
        "document_id": "d",
        "text": "",
        "score": 0.5,
        "alternate_sources": [],
    }
    return plain_rows(plain, FUSED)
