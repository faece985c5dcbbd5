from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from operators.context.search_outcomes import (
    answered_channels,
    channels,
    collect,
    faults,
    not_ingested,
    notes,
    outcome,
    searched,
    unsuccessful,
)
from operators.errors import SearchError
from operators.frames import NOTES, OUTCOMES, check

Make = Callable[..., pl.DataFrame]


def failed(corpus: str, channel: str, error: Exception | None = None) -> pl.DataFrame:
    return unsuccessful(corpus, channel, error or OSError("no server"), 1500.0)


def test_each_thing_that_went_wrong_is_said_and_nothing_else() -> None:
    outcomes = collect(
        [
            searched("code", "vector", 5, 1.0),
            searched("code", "text", 0, 1.0),
            outcome("wiki", "vector", "absent"),
            outcome("wiki", "text", "absent"),
            failed("review", "text"),
            searched("review", "vector", 1, 1.0),
            failed("docs", "vector", TimeoutError("slow")),
            failed("docs", "text"),
            searched("issue", "vector", 1, 1.0),
            searched("issue", "text", 1, 1.0),
            failed("issue", "chunks"),
        ]
    )
    check(outcomes, OUTCOMES, "outcomes")
    assert [sentence for _, sentence in faults(outcomes)] == [
        "review: the text search failed (no server); the results are of its vector search alone",
        "docs: the vector search timed out after 1.50 s; it has no results here",
        "docs: the text search failed (no server); it has no results here",
        "issue: the reading of its chunks failed (no server); it has no results here",
    ]
    assert channels(outcomes)["code"] == {"vector": "ok", "text": "empty"}


def test_a_query_hears_only_of_corpora_that_it_asked(make_queries: Make) -> None:
    some = [
        outcome("wiki", "text", "absent"),
        outcome("docs", "vector", "absent"),
        outcome("docs", "text", "absent"),
    ]
    outcomes = collect([*some, searched("code", "text", 1, 1.0), failed("review", "text")])
    queries = make_queries(
        {"query_id": 0}, {"query_id": 1, "corpora": ["code"]}, {"query_id": 2, "corpora": ["wiki"]}
    )
    found = check(notes(faults(outcomes), queries), NOTES, "notes")
    assert found["query_id"].to_list() == [0]
    lines = check(not_ingested(outcomes, queries), NOTES, "notes")
    assert lines.rows() == [(0, "not ingested: docs, wiki"), (2, "not ingested: wiki")]


def test_no_answer_at_all_is_an_error() -> None:
    bad = [failed("code", "vector"), failed("code", "text"), outcome("wiki", "text", "absent")]
    with pytest.raises(SearchError, match=r"answer: code vector, code text: no server$"):
        collect(bad)
    collect([*bad, searched("docs", "text", 0, 1.0)])
    unread = [searched("docs", "text", 3, 1.0), failed("docs", "chunks")]
    with pytest.raises(SearchError, match="docs chunks"):
        collect([*bad, *unread])


def test_a_collection_without_the_corpora_is_no_error() -> None:
    assert collect([outcome("wiki", "text", "absent")]).height == 1
    assert collect([]).is_empty()


def test_an_error_is_told_in_one_harmless_line() -> None:
    secret = OSError("postgresql://u:s3cret@h/db refused\x1b[2J [wiki: x]\nDETAIL: more")
    (error,) = failed("code", "text", secret)["error"]
    assert error == "postgresql://...h/db refused\\u{1b}[2J [wiki: x]"
    assert len(failed("code", "text", OSError("x" * 999))["error"].item()) < 200
    assert failed("code", "text", OSError())["error"].item() == "OSError"


@pytest.mark.parametrize(
    ("outcomes", "channels"),
    [
        ([searched("c", "vector", 5, 1.0), searched("c", "text", 0, 1.0)], ["vector", "text"]),
        ([searched("c", "vector", 5, 1.0), failed("c", "text")], ["vector"]),
        ([searched("c", "text", 5, 1.0)], ["text"]),
        ([failed("c", "vector", TimeoutError("slow")), failed("c", "text")], []),
        ([outcome("c", "vector", "overridden"), failed("c", "chunks")], ["vector"]),
    ],
)
def test_a_search_that_found_nothing_answered_and_one_that_failed_did_not(
    outcomes: list[pl.DataFrame], channels: list[str]
) -> None:
    assert answered_channels(pl.concat(outcomes)) == channels
