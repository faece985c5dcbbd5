from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.question import EmptyQuery, ask, query_texts
from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.sanitize import clean_text
from operators.frames import QUERIES, check


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
    row = ask("q", filters, repos=[text]).row(0, named=True)
    assert row["repos"] == [clean_text(text)]
    assert {row[name] for name in filters} == {clean_text(text)}


@pytest.mark.parametrize("query", ["", " \n", [], ["", "\t"]])
def test_an_empty_query_is_an_error(query: Any) -> None:
    with pytest.raises(EmptyQuery):
        ask(query)


def test_stop_words_are_a_query() -> None:
    assert ask("the of and")["texts"].to_list() == [["the of and"]]


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
        known_corpora=["wiki"],
        trigger={"issue": 1},
        known_triggers=["issue"],
    ).to_dicts()
    assert row["repos"] == ["org/app"]
    assert row["as_of"] == datetime(2025, 1, 1, tzinfo=UTC)
    assert row["corpora"] == ["wiki"]
    assert row["trigger"] == [{"trigger": "issue", "share": 1.0}]


def test_a_moment_that_utc_has_no_year_for_is_refused() -> None:
    west, east = (timezone(timedelta(hours=hours)) for hours in (-8, 8))
    assert ask("q", as_of=datetime.max.replace(tzinfo=east))["as_of"].item().year == 9999
    for moment in (datetime.max.replace(tzinfo=west), datetime.min.replace(tzinfo=east)):
        with pytest.raises(CrosscorpusError, match="outside the years 1 to 9999 in UTC"):
            ask("q", as_of=moment)


def test_an_empty_repo_list_is_not_every_repo() -> None:
    assert ask("q", repos=[])["repos"].to_list() == [[]]


def test_an_unknown_corpus_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="'wki', did you mean 'wiki'"):
        ask("q", corpora=["wki"], known_corpora=["wiki", "code"])


@pytest.mark.parametrize("policy", ["newest", "all"])
def test_a_policy_is_one_also_as_the_only_version_of_a_list(policy: str) -> None:
    for versions in (policy, [policy]):
        row = ask("why?", versions=versions).row(0, named=True)
        assert (row["version_policy"], row["versions"]) == (policy, None)
    assert ask("why?", versions=[policy, "1.0"])["versions"].to_list() == [[policy, "1.0"]]
