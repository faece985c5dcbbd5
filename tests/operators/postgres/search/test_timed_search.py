"""The results of the searches of several corpora, in one frame."""

from __future__ import annotations

import polars as pl

from operators.context.search_outcomes import outcome, searched
from operators.frames import TEXT_LISTS, empty
from operators.postgres.search.timed_search import Searched, lists_of, outcomes_of

TEXT = pl.DataFrame([(0, 0, 7, 0, 2.0)], schema=TEXT_LISTS, orient="row")
NAMED = [*TEXT_LISTS, "corpus"]


def test_the_lists_of_all_corpora_have_the_name_of_their_corpus() -> None:
    found = lists_of({"b": Searched(TEXT), "a": Searched(empty(TEXT_LISTS)), "c": Searched(TEXT)})
    assert found.columns == NAMED
    assert found["corpus", "chunk_id"].rows() == [("b", 7), ("c", 7)]


def test_corpora_without_a_list_have_an_empty_one_with_the_same_columns() -> None:
    found = lists_of({name: Searched(empty(TEXT_LISTS)) for name in ("a", "b")})
    assert found.is_empty()
    assert found.schema == lists_of({"a": Searched(TEXT)}).schema


def test_a_column_that_only_one_search_returns_is_null_for_the_others() -> None:
    known = TEXT.with_columns(coverage=pl.lit(0.5))
    found = lists_of({"a": Searched(TEXT), "b": Searched(known)})
    assert found["corpus", "coverage"].rows() == [("a", None), ("b", 0.5)]


def test_outcomes_come_corpus_by_corpus_and_a_search_that_did_not_run_has_none() -> None:
    vector = {name: Searched(TEXT, searched(name, "vector", 1, 1.0)) for name in ("b", "a")}
    text = {"a": Searched(TEXT), "b": Searched(TEXT, outcome("b", "text", "absent"))}
    found = pl.concat(outcomes_of(vector, text))
    assert found["corpus", "channel"].rows() == [("b", "vector"), ("b", "text"), ("a", "vector")]
