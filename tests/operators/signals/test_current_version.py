"""The newest version of a topic stands before what only older ones have."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import FUSED
from tests.support.ordering import asked as queries_of
from tests.support.ordering import ordered, scope_of

RULES = {"newest_version": 1.0, "replaced": 1.0}
QUESTION = "how are jobs retried?"


def hits(*rows: dict[str, Any]) -> pl.DataFrame:
    plain = {"query_id": 0, "text": "jobs are retried"}
    made = [
        {"chunk_id": n, "document_id": f"page {n}", "rank": n, "score": 1 - n / 100, **plain, **row}
        for n, row in enumerate(rows)
    ]
    return pl.DataFrame(made, schema=FUSED)


def asked(text: str = QUESTION, policy: str = "newest", **columns: Any) -> list[pl.DataFrame]:
    queries = pl.concat([queries_of(text, query=n, **columns) for n in (0, 3)])
    return [queries, scope_of(queries, version_policy=policy)]


def by_version(frame: pl.DataFrame, queries: pl.DataFrame, scope: pl.DataFrame) -> pl.DataFrame:
    return ordered(frame, queries, RULES, scope)


def order(frame: pl.DataFrame) -> list[int]:
    return frame["chunk_id"].to_list()


OLD = {"lineage_id": "guide", "last_version": "1.0"}
NEW = {"lineage_id": "guide"}
LIST = hits({}, OLD, {}, OLD, NEW, {}, NEW)


def test_the_newest_takes_the_place_of_the_first_older_one_and_they_follow_the_others() -> None:
    found = by_version(LIST, *asked())
    assert order(found) == [0, 4, 2, 5, 6, 1, 3]
    assert found["rank"].to_list() == list(range(7))
    assert found["score"].is_sorted(descending=True)


def test_what_nothing_newer_says_stays_where_it_is() -> None:
    rows = [{**OLD, "text": "bashcomplete is set for jobs"}, {"text": "another"}, NEW]
    assert order(by_version(hits(*rows), *asked("set bashcomplete"))) == [0, 1, 2]
    rows[1] = {"text": "bashcomplete went away; set it no more"}
    assert order(by_version(hits(*rows), *asked("set bashcomplete"))) == [2, 1, 0]


def test_a_topic_whose_newest_version_is_not_in_the_list_gives_way_too() -> None:
    assert order(by_version(hits(OLD, {}), *asked())) == [1, 0]
    assert order(by_version(hits(OLD, OLD), *asked())) == [0, 1]


def test_a_topic_that_was_removed_gives_no_way_for_nothing_stands_for_it() -> None:
    removed = {**OLD, "removed": True}
    assert order(by_version(hits(removed, {}), *asked())) == [0, 1]
    assert order(by_version(hits(OLD, removed, {}), *asked())) == [1, 2, 0]


@pytest.mark.parametrize(
    "question",
    [
        asked(policy="all"),
        asked(policy="pinned"),
        asked(as_of=datetime(2020, 1, 1, tzinfo=UTC)),
    ],
    ids=["all", "pinned", "a moment"],
)
def test_a_question_for_a_version_or_a_moment_is_left_alone(question: list[pl.DataFrame]) -> None:
    assert by_version(LIST, *question).equals(LIST)


def test_as_of_a_moment_the_newest_of_that_moment_stands_for_its_topic() -> None:
    since = [datetime(year, 1, 1, tzinfo=UTC) for year in (2019, 2022)]
    rows = [{}, {**OLD, "superseded_at": since[0]}, {}, {**OLD, "superseded_at": since[1]}]
    at = asked(policy="as_of", as_of=datetime(2020, 1, 1, tzinfo=UTC))
    assert order(by_version(hits(*rows), *at)) == [0, 3, 2, 1]
    later = asked(policy="as_of", as_of=datetime(2023, 1, 1, tzinfo=UTC))
    assert order(by_version(hits(*rows, NEW), *later)) == [0, 4, 2, 1, 3]


rows_of = st.lists(
    st.fixed_dictionaries(
        {
            "lineage_id": st.sampled_from([None, "a", "b"]),
            "last_version": st.sampled_from([None, None, "1.0"]),
            "document_id": st.sampled_from("pqrs"),
            "text": st.sampled_from(["jobs", "retried", "nothing"]),
            "query_id": st.sampled_from([0, 3]),
        }
    ),
    max_size=8,
)


@given(rows_of)
def test_nothing_is_lost_and_what_is_replaced_is_behind_all_others(
    rows: list[dict[str, Any]],
) -> None:
    frame = hits(*sorted(rows, key=lambda row: row["query_id"]))
    found = by_version(frame, *asked())
    assert sorted(order(found)) == sorted(order(frame))
    for _, of in found.group_by("query_id"):
        assert of["score"].is_sorted(descending=True)
