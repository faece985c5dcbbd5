from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.explain.explain_targets import best, hidden
from operators.postgres.search.chunk_lookup import LOCATED

CORPORA = {
    "code": {"inputs": {"label": "{path}[[:{start_line}-{end_line}]]", "filters": {}}},
    "wiki": {"inputs": {"label": "{title}", "link": "{uri}", "filters": {"state": "open"}}},
}
ANYONE: dict[str, Any] = dict.fromkeys(
    ("corpora", "repos", "path_prefix", "language", "state", "as_of")
)
CREATED = datetime(2025, 3, 1, tzinfo=UTC)


def located(*rows: dict[str, Any]) -> pl.DataFrame:
    plain = {"corpus": "code", "repo": "org/app", "document_id": "d", "path": "src/a.py"}
    return pl.DataFrame([plain | row for row in rows], schema=LOCATED)


@pytest.fixture
def known() -> pl.DataFrame:
    return located(
        {"chunk_id": 100001, "start_line": 1, "end_line": 9},
        {"chunk_id": 100002, "start_line": 10, "end_line": 20},
        {"chunk_id": 100003, "corpus": "wiki", "document_id": "123456", "title": "[Home] page"}
        | {"path": None},
    )


def test_a_document_that_no_search_found_is_its_nearest_chunk(known: pl.DataFrame) -> None:
    assert best(known, {}, {100001: 0.8, 100002: 0.3}) == [100002]
    assert best(known, {}, {}) == [100001]
    assert best(known, {100001: 7}, {100002: 0.1}) == [100001]


@pytest.mark.parametrize(
    ("chunk", "query", "reason"),
    [
        ({}, {}, None),
        ({"corpus": "chat"}, {}, "the configuration has no corpus 'chat'"),
        ({}, {"corpora": ["wiki"]}, "the question asks wiki only, and this is in code"),
        (
            {"corpus": "wiki", "state": "closed"},
            {},
            "the corpus wiki is limited to the state 'open', and this has 'closed'",
        ),
        (
            {"created_at": CREATED},
            {"as_of": CREATED},
            "created 2025-03-01 00:00, and the question is as of 2025-03-01 00:00",
        ),
        (
            {"chunk_id": 8, "metadata": '{"defines": ["Queue.take"]}'},
            {"uses": "Lock.release"},
            "it does not match the question's uses 'Lock.release', or another version answers",
        ),
        ({"chunk_id": 8}, {}, "another version answers this question"),
    ],
)
def test_what_a_question_cannot_see_says_which_limit_hides_it(
    chunk: dict[str, Any], query: dict[str, Any], reason: str | None
) -> None:
    row = located({"chunk_id": 7, **chunk}).row(0, named=True)
    assert hidden(row, ANYONE | query, CORPORA, {7}) == reason
