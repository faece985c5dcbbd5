from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.frames import QUERIES, SCOPED_QUERIES, VERSION_SCOPE, check
from operators.postgres.search.known_versions import KNOWN_VERSIONS
from operators.versions.version_choice import ELSEWHERE, may_ask, notes, scoped, version_scope

MOMENT = datetime(2021, 6, 1, tzinfo=UTC)
NAMES = "What does the guide say in 1.0?"
ORIGIN = "Which version introduced the guide's index?"
PLAIN = "What does the guide say?"


def queries(*rows: dict[str, Any]) -> pl.DataFrame:
    plain = {"texts": [PLAIN], "trigger": []}
    return pl.DataFrame(
        [{"query_id": n, **plain, **row} for n, row in enumerate(rows)], schema=QUERIES
    )


def known(*versions: str) -> pl.DataFrame:
    rows = [
        ("docs", "", "guide", version, place, place == len(versions) - 1, None, None, None, None)
        for place, version in enumerate(versions)
    ]
    return pl.DataFrame(rows, schema=KNOWN_VERSIONS, orient="row")


def decided(row: dict[str, Any], default: str = "newest", understand: bool = True) -> Any:
    scope = version_scope(queries(row), known("1.0", "2.0"), default=default, understand=understand)
    check(scope, VERSION_SCOPE, "version_scope")
    one = scope.row(0, named=True)
    return one["version_policy"], one["pinned"], one["basis"]


@pytest.mark.parametrize(
    ("row", "default", "expected"),
    [
        ({}, "newest", ("newest", [], "config")),
        ({}, "all", ("all", [], "config")),
        ({}, "pinned", ("newest", [], "config")),
        ({"texts": [NAMES]}, "newest", ("pinned", [["1.0"]], "question")),
        ({"texts": [NAMES]}, "all", ("pinned", [["1.0"]], "question")),
        ({"texts": [NAMES], "version_policy": "all"}, "newest", ("all", [], "input")),
        ({"texts": [NAMES], "version_policy": "newest"}, "all", ("newest", [], "input")),
        ({"texts": [NAMES], "versions": ["2.0"]}, "all", ("pinned", [["2.0"]], "input")),
        ({"versions": ["9"]}, "newest", ("newest", [], "input")),
        ({"as_of": MOMENT}, "newest", ("as_of", [], "input")),
        ({"as_of": MOMENT}, "all", ("all", [], "input")),
        ({"texts": [NAMES], "as_of": MOMENT}, "newest", ("pinned", [["1.0"]], "question")),
    ],
)
def test_an_input_beats_the_text_and_the_text_beats_the_configuration(
    row: dict[str, Any], default: str, expected: Any
) -> None:
    assert decided(row, default) == expected


def test_the_text_is_not_read_where_that_is_off() -> None:
    assert decided({"texts": [NAMES]}, understand=False) == ("newest", [], "config")
    assert not may_ask(queries({"texts": [NAMES]}), understand=False)
    assert may_ask(queries({"versions": ["1"]}), understand=False)
    assert not may_ask(queries({}), understand=True)


def test_nothing_is_pinned_where_no_version_is_known() -> None:
    scope = version_scope(queries({"texts": [NAMES]}), known(), default="newest", understand=True)
    assert scope["version_policy"].to_list() == ["newest"]
    assert notes(scope).is_empty()


def test_a_note_stands_once_for_each_question_that_it_concerns() -> None:
    batch = queries({"texts": [NAMES, NAMES + " "]}, {}, {"versions": ["9"]})
    scope = version_scope(batch, known("1.0", "2.0"), default="newest", understand=True)
    assert notes(scope)["query_id"].to_list() == [0, 2]


def test_that_other_topics_answer_with_their_newest_is_said_where_there_are_any() -> None:
    alone = known("1.0", "2.0")
    other = alone.with_columns(lineage_id=pl.lit("manual"), version=pl.lit("7.0"))
    same = alone.with_columns(lineage_id=pl.lit("manual"))
    for row in ({"texts": [NAMES]}, {"versions": ["1.0"]}):
        for frame, is_said in ((alone, False), (other, True), (same, False)):
            topics = alone if frame is alone else pl.concat([alone, frame])
            scope = version_scope(queries(row), topics, default="newest", understand=True)
            said = notes(scope)["note"].to_list()
            assert said[0].startswith("answered for version 1.0, which")
            assert said[1:] == [ELSEWHERE] * is_said
    both = queries({"versions": ["1.0", "7.0"]})
    scope = version_scope(both, pl.concat([alone, other]), default="newest", understand=True)
    assert ELSEWHERE not in notes(scope)["note"].to_list()


def test_a_table_of_versions_asks_for_none_of_them() -> None:
    text = "Which of " + ", ".join(f"1.{n}.0" for n in range(30)) + " has it?"
    scope = version_scope(
        queries({"texts": [text]}), known("1.1.0", "1.2.0"), default="newest", understand=True
    )
    assert scope["version_policy"].to_list() == ["newest"]


def test_scoped_queries_keep_everything_else() -> None:
    batch = queries({"texts": [NAMES], "repos": ["a"]}, {"as_of": MOMENT})
    scope = version_scope(batch, known("1.0", "2.0"), default="newest", understand=True)
    found = scoped(batch, scope)
    check(found, SCOPED_QUERIES, "scoped_queries")
    kept = [name for name in QUERIES if name != "version_policy"]
    assert found.select(kept).equals(batch.select(kept))
    with pytest.raises(ValueError, match="order"):
        scoped(batch.reverse(), scope)


@pytest.mark.parametrize(
    ("row", "default", "expected"),
    [
        ({}, "newest", ("all", [], "question")),
        ({"as_of": MOMENT}, "newest", ("all", [], "question")),
        ({"version_policy": "newest"}, "newest", ("newest", [], "input")),
        ({"versions": ["1.0"]}, "newest", ("pinned", [["1.0"]], "input")),
        ({"texts": [f"{ORIGIN} {NAMES}"]}, "newest", ("pinned", [["1.0"]], "question")),
        ({"texts": ["Which Python version dropped it?"]}, "newest", ("newest", [], "config")),
    ],
)
def test_a_question_in_which_version_something_came_is_answered_from_all(
    row: dict[str, Any], default: str, expected: Any
) -> None:
    assert decided({"texts": [ORIGIN], **row}, default) == expected


def test_that_all_versions_answer_is_said() -> None:
    scope = version_scope(
        queries({"texts": [ORIGIN]}), known("1.0", "2.0"), default="newest", understand=True
    )
    assert "all versions" in notes(scope)["note"].item()
    assert may_ask(queries({"texts": [ORIGIN]}), understand=True)


def test_a_date_in_a_question_that_hides_nothing_says_how_to_ask_as_of_it() -> None:
    def said(understand: bool = True, **row: Any) -> list[str]:
        asked = queries({"texts": ["What did the guide say before 2020?"], **row})
        scope = version_scope(asked, known("1.0"), default="newest", understand=understand)
        return notes(scope)["note"].to_list()

    (note,) = said()
    assert note.startswith('"before 2020" in the question hides nothing')
    assert "--as-of 2020-01-01" in note
    assert said(as_of=MOMENT) == said(version_policy="all") == said(understand=False) == []
