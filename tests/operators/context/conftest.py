from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from plain_rows import plain_rows

from operators.frames import NOTES, QUERIES, READ_CHUNKS, SHOWN


@pytest.fixture(scope="session")
def make_chunks() -> Callable[..., pl.DataFrame]:
    """READ_CHUNKS from what differs from a plain row."""
    plain = {"chunk_id": 0, "corpus": "code", "repo": "", "document_id": "d", "text": ""}
    return plain_rows(plain, READ_CHUNKS)


@pytest.fixture(scope="session")
def make_results() -> Callable[..., pl.DataFrame]:
    """SHOWN from what differs from a plain row."""
    plain = {
        "query_id": 0,
        "corpus": "wiki",
        "source_label": "[wiki: Page]",
        "text": "text",
        "score": 0.5,
        "alternate_sources": [],
    }
    return plain_rows(plain, SHOWN)


@pytest.fixture(scope="session")
def make_queries() -> Callable[..., pl.DataFrame]:
    """QUERIES from what differs from a plain row."""
    return plain_rows({"query_id": 0, "texts": ["q"], "trigger": []}, QUERIES)


@pytest.fixture(scope="session")
def make_notes() -> Callable[..., pl.DataFrame]:
    """NOTES of query 0."""

    def make(*notes: str) -> pl.DataFrame:
        return pl.DataFrame([(0, note) for note in notes], schema=NOTES, orient="row")

    return make


@pytest.fixture(scope="session")
def hostile() -> dict[str, dict[str, str]]:
    """The shared hostile inputs by their number."""
    root = Path(__file__).parents[3]
    data = Path(os.environ.get("CROSSCORPUS_TEST_DATA", root / "../shared/data"))
    path = data / "hostile/inputs.jsonl"
    if not path.is_file():
        pytest.skip("the shared hostile inputs are not there (CROSSCORPUS_TEST_DATA)")
    return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}
