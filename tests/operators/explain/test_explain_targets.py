from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.errors import UnknownName
from operators.explain.explain_targets import hidden, meant
from operators.explain.named_documents import labelled
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
    found = located(
        {"chunk_id": 100001, "start_line": 1, "end_line": 9},
        {"chunk_id": 100002, "start_line": 10, "end_line": 20},
        {"chunk_id": 100003, "corpus": "wiki", "document_id": "123456", "title": "[Home] page"}
        | {"path": None},
    )
    return labelled(found, CORPORA)


@pytest.mark.parametrize(
    ("name", "chunks"),
    [
        (100002, [100002]),
        ("[code: src/a.py:10-20]", [100002]),
        ("src/a.py", [100001, 100002]),
        ("src/a.py:11-12", [100002]),
        ("[wiki: \\[Home\\] page]", [100003]),
        ("123456", [100003]),
    ],
)
def test_a_chunk_is_meant_by_its_id_its_label_or_its_document(
    known: pl.DataFrame, name: str | int, chunks: list[int]
) -> None:
    ranks = {100002: 9, 100001: 4, 100003: 0}
    assert meant(name, known, ranks, {})[0] == chunks


@pytest.mark.parametrize(
    ("name", "chunks"),
    [
        ("[code: o/b/src/a.py:1-9]", [100002]),
        ("o/b/src/a.py", [100002]),
        ("[code: o/b/src/a.py:1-9, lines 1-9]", [100002]),
        ("src/a.py", [100001, 100002]),
        ("[code: src/a.py:1-9, in o/b]", [100001, 100002]),
    ],
)
def test_a_label_with_its_repository_means_the_file_there(name: str, chunks: list[int]) -> None:
    rows = [{"chunk_id": 100001 + n, "repo": r} for n, r in enumerate(("o/a", "o/b"))]
    found = located(*({**row, "start_line": 1, "end_line": 9} for row in rows))
    several = labelled(found, CORPORA, many_repos=True)
    assert meant(name, several, {100001: 0, 100002: 1}, {})[0] == chunks


def test_a_document_that_no_search_found_is_its_nearest_chunk(known: pl.DataFrame) -> None:
    assert meant("src/a.py", known, {}, {100001: 0.8, 100002: 0.3})[0] == [100002]
    assert meant("src/a.py", known, {}, {})[0] == [100001]
    assert meant("src/a.py", known, {100001: 7}, {100002: 0.1})[0] == [100001]


def test_an_unknown_name_is_an_error_with_the_nearest_label(known: pl.DataFrame) -> None:
    with pytest.raises(UnknownName, match=r"did you mean '\[code: src/a.py:1-9\]'"):
        meant("[code: src/a.py:1-8]x", known, {}, {})
    with pytest.raises(UnknownName):  # half a file's name is none
        meant(".py", known, {}, {})


def test_lines_that_no_chunk_of_the_file_has_are_an_error_that_says_where_it_ends(
    known: pl.DataFrame,
) -> None:
    for name in ("src/a.py:21", "[code: src/a.py:30-40]"):
        with pytest.raises(UnknownName, match=r"src/a.py:.* its chunks end with line 20$"):
            meant(name, known, {100001: 0}, {})


@pytest.mark.parametrize("name", ["RFC:2119", "tracker:12"])
def test_a_name_that_ends_in_a_number_is_itself_and_names_no_lines(name: str) -> None:
    row = {"chunk_id": 100001, "corpus": "wiki", "document_id": "tracker:12", "title": "RFC:2119"}
    known = labelled(located(row | {"path": None, "start_line": 1, "end_line": 9}), CORPORA)
    assert meant(name, known, {}, {})[0] == [100001]


def test_an_unknown_name_gets_few_near_names_and_where_to_look_for_what_was_left_out() -> None:
    rows = [{"chunk_id": n, "start_line": n, "end_line": n} for n in range(100000, 100020)]
    known = labelled(located(*rows), CORPORA)
    with pytest.raises(UnknownName) as near:
        meant("[code: src/a.pyx:1000]", known, {}, {})
    assert str(near.value).count("[code: ") == 1 + 3
    with pytest.raises(UnknownName, match="ingest` on its source reports what it leaves") as far:
        meant("httpx/_urls.py", known, {}, {})
    assert "[code: " not in str(far.value)


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
