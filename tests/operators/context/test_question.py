"""What is asked, and which searches answered."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.search_outcomes import (
    channels,
    collect,
    faults,
    not_ingested,
    not_searched,
    notes,
    outcome,
    searched,
    silent_corpora,
    unsuccessful,
)
from operators.foundation.sanitize import clean_text
from operators.frames import NOTES, OUTCOMES, QUERIES, check
from operators.question.ask import EmptyQuery, ask, query_texts


@given(st.text(st.characters(exclude_categories=[]), max_size=50))
def test_any_text_is_a_query_unless_it_is_empty(text: str) -> None:
    if not text.strip():
        with pytest.raises(EmptyQuery, match="the query is empty"):
            ask(text)
        return
    queries = ask(text)
    check(queries, QUERIES, "queries")
    (texts,) = queries["texts"].to_list()
    assert len(texts[0]) == len(text)
    assert "\x00" not in texts[0]


@given(st.text(st.characters(exclude_categories=[]), min_size=1, max_size=9))
def test_any_text_is_a_filter_for_what_is_stored_under_it(text: str) -> None:
    filters = dict.fromkeys(("path_prefix", "language", "state"), text)
    row = ask("q", repos=[text], **filters).row(0, named=True)
    assert row["repos"] == [clean_text(text)]
    assert {row[name] for name in filters} == {clean_text(text)}


@pytest.mark.parametrize("query", [" \n", [], ["", "\t"]])
def test_an_empty_query_is_an_error(query: Any) -> None:
    with pytest.raises(EmptyQuery):
        ask(query)


def test_several_texts_are_one_question() -> None:
    queries = ask(["why?", "", "src/a.py", "why?"])
    assert queries["texts"].to_list() == [["why?", "src/a.py"]]
    assert query_texts(queries).rows() == [(0, 0, "why?"), (0, 1, "src/a.py")]


def test_a_query_of_a_book_is_cut() -> None:
    (texts,) = ask("word " * 40_000)["texts"].to_list()
    assert len(texts[0]) == 20_000


def test_what_a_caller_leaves_out_is_null() -> None:
    (row,) = ask("q").to_dicts()
    given_ = ("texts", "trigger", "query_id")
    assert all(value is None for name, value in row.items() if name not in given_)
    assert row["trigger"] == []


def test_filters_and_moments_are_kept() -> None:
    (row,) = ask(
        "q",
        repos="org/app",
        as_of=datetime(2025, 1, 1),
        corpora=["wiki"],
        trigger={"issue": 1},
        known_triggers=["issue"],
    ).to_dicts()
    assert row["repos"] == ["org/app"]
    assert row["as_of"] == datetime(2025, 1, 1, tzinfo=UTC)
    assert row["corpora"] == ["wiki"]
    assert row["trigger"] == [{"trigger": "issue", "share": 1.0}]


def test_an_empty_repo_list_is_not_every_repo() -> None:
    assert ask("q", repos=[])["repos"].to_list() == [[]]


@pytest.mark.parametrize("policy", ["newest", "all"])
def test_a_policy_is_one_also_as_the_only_version_of_a_list(policy: str) -> None:
    for versions in (policy, [policy]):
        row = ask("why?", versions=versions).row(0, named=True)
        assert (row["version_policy"], row["versions"]) == (policy, None)
    assert ask("why?", versions=[policy, "1.0"])["versions"].to_list() == [[policy, "1.0"]]


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


def test_an_error_is_told_in_one_harmless_line() -> None:
    secret = OSError("postgresql://u:s3cret@h/db refused\x1b[2J [wiki: x]\nDETAIL: more")
    (error,) = failed("code", "text", secret)["error"]
    assert error == "postgresql://...h/db refused\\u{1b}[2J [wiki: x]"
    assert len(failed("code", "text", OSError("x" * 999))["error"].item()) < 200
    assert failed("code", "text", OSError())["error"].item() == "OSError"


@pytest.mark.parametrize(
    ("outcomes", "silent"),
    [
        ([searched("c", "vector", 5, 1.0), searched("c", "text", 0, 1.0)], None),
        ([searched("c", "vector", 5, 1.0), failed("c", "text")], "text"),
        ([searched("c", "text", 5, 1.0)], "vector"),
        ([failed("c", "vector", TimeoutError("slow")), failed("c", "text")], None),
        ([outcome("c", "vector", "overridden"), failed("c", "chunks")], "text"),
    ],
)
def test_a_search_that_found_nothing_answered_and_one_that_failed_did_not(
    outcomes: list[pl.DataFrame], silent: str | None
) -> None:
    others = [searched(name, channel, 1, 1.0) for name in "bd" for channel in ("vector", "text")]
    expected: dict[str, list[str]] = {"vector": [], "text": []}
    if silent:
        expected[silent].append("c")
    assert silent_corpora(pl.concat([*others, *outcomes])) == expected


def test_a_note_names_the_first_of_many_corpora_that_are_not_searched() -> None:
    held = {f"c{number:02}": number for number in range(1, 31)}
    note = not_searched(held, ask("q"))["note"].item()
    assert "c08 (8 chunks) and 22 more; " in note
    assert "c09" not in note
    assert "more" not in not_searched({"c": 1}, ask("q"))["note"].item()
