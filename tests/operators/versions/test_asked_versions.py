"""Which versions answer a question."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import QUERIES, SCOPED_QUERIES, VERSION_SCOPE, check
from operators.postgres.search.known_versions import KNOWN_VERSIONS
from operators.question.intent import intent
from operators.versions import version_choice
from operators.versions.asked_versions import LONGEST_SHOWN, KnownVersions
from operators.versions.mentions import mentions
from operators.versions.version_choice import ELSEWHERE, notes, scoped

NODE = ["16.20.2", "18.20.8", "22.14.0"]
SPARK = ["2.4.7", "3.3.4", "3.5.3"]
BOOTSTRAP = ["5.3.3", "5.3.4", "5.3.5", "5.3.5-rc.1"]


def version_scope(
    queries: pl.DataFrame, known: pl.DataFrame | None, **options: Any
) -> pl.DataFrame:
    return version_choice.version_scope(queries, intent(queries, queries), known, **options)


def may_ask(queries: pl.DataFrame, *, understand: bool) -> bool:
    return version_choice.may_ask(queries, intent(queries, queries), understand=understand)


def known(**topics: list[str]) -> KnownVersions:
    topics = topics or {
        "assert-nodejs.md": NODE,
        "spark-release.pdf": SPARK,
        "bootstrap-release.md": BOOTSTRAP,
    }
    rows: list[dict[str, Any]] = [
        {
            "corpus": "docs",
            "repo": "",
            "lineage_id": topic,
            "version": version,
            "position": place,
            "newest": place == len(versions) - 1,
            "released_at": datetime(2020 + place, 1, 1, tzinfo=UTC),
        }
        for topic, versions in topics.items()
        for place, version in enumerate(versions)
    ]
    return KnownVersions(pl.DataFrame(rows, schema=KNOWN_VERSIONS))


def understood(question: str, **topics: list[str]) -> tuple[list[list[str]], list[str]]:
    pinned, _, said = known(**topics).understood(mentions(question), [question])
    return pinned, said


@pytest.mark.parametrize(
    ("question", "pinned"),
    [
        ("What does assert.ok do in v16.20.2?", [["16.20.2"]]),
        ("What is new in Bootstrap 5.3?", [["5.3.3", "5.3.4", "5.3.5"]]),
        ("What changed between 5.3.3 and 5.3.4?", [["5.3.3"], ["5.3.4"]]),
        ("Does it work with Python 3.5?", []),
        ("What changed in Node 18?", [["18.20.8"]]),
        ("How do I upgrade from 3.3 to 3.5?", [["3.3.4"], ["3.5.3"]]),
        ("Does it work with Python 3.5.3?", []),
    ],
)
def test_what_a_question_names_becomes_versions_that_exist(
    question: str, pinned: list[list[str]]
) -> None:
    assert understood(question)[0] == pinned


def test_before_a_version_are_all_that_are_older() -> None:
    pinned, _ = understood("What did it return before 3.5.3?", spark=SPARK)
    assert pinned == [["2.4.7", "3.3.4"]]


def test_the_note_says_which_version_answers() -> None:
    assert understood("What is it in 3.5.3?")[1] == [
        "answered for version 3.5.3, which the question names"
    ]
    assert understood("What is new in Bootstrap 5.3?")[1] == [
        "answered for version 5.3.5, the newest of 5.3, which the question names"
    ]


@pytest.mark.parametrize(
    ("question", "version"),
    [("What is it in version 9.9?", "9.9"), ("What does it say in 9.9.9-rc.1?", "9.9.9-rc.1")],
)
def test_what_can_only_be_a_version_is_said_not_to_exist(question: str, version: str) -> None:
    pinned, said = understood(question, spark=SPARK)
    assert pinned == []
    assert said == [f"version {version} is not here; there are 2.4.7, 3.3.4, 3.5.3"]


@pytest.mark.parametrize(
    "question",
    [
        "Why is the ratio 9.9?",
        "Does it work with Python 9.9.9?",
        "What is at 10.0.0.1?",
        "Which of 1, 2 and 9 is it?",
    ],
)
def test_a_number_that_no_topic_has_is_no_version(question: str) -> None:
    assert understood(question, spark=SPARK) == ([], [])


def test_the_name_of_a_repository_says_whose_version_it_is() -> None:
    frame = known_frame("8.0", "8.1").with_columns(repo=pl.lit("pallets/click"))
    asked = queries({"texts": ["How does click 8.0 read a prompt?"]})
    scope = version_scope(asked, frame, default="newest", understand=True)
    assert scope["pinned"].to_list() == [[["8.0"]]]


def test_spellings_of_one_version_are_one() -> None:
    assert understood("Is it in 1.0?", guide=["v1.0", "2"], other=["1.0.0", "1.1"])[0] == [
        ["1.0.0", "v1.0"]
    ]


def test_a_date_counts_only_before_the_last_release() -> None:
    before = known().understood(mentions("What was it before 2021?"), [])
    assert before[1] == datetime(2021, 1, 1, tzinfo=UTC)
    assert before[2] == ['answered for the versions of "before 2021"']
    assert known().understood(mentions("What was it before 2090?"), [])[1] is None


def test_a_date_before_the_first_release_is_answered_for_and_said_to_have_none() -> None:
    _, until, said = known().understood(mentions("What was it before 2015?"), [])
    assert until == datetime(2015, 1, 1, tzinfo=UTC)
    assert said == ['no version here is of "before 2015": the oldest is of 2020-01-01']


def test_a_caller_gets_the_version_or_is_told_which_there_are() -> None:
    assert known().requested("v3.5.3", "") == (
        ["3.5.3"],
        "answered for version v3.5.3, which was requested",
    )
    found, said = known().requested("7", "the spark release")
    assert found == []
    assert said == "version 7 is not here; there are 2.4.7, 3.3.4, 3.5.3"


@given(st.text(max_size=300))
def test_no_version_forges_a_note(version: str) -> None:
    found, said = known().requested(version, version)
    assert said is not None
    assert "\n" not in said
    assert "\u202e" not in said
    assert len(said) < 300 + 2 * LONGEST_SHOWN
    for one in found:
        assert one in NODE + SPARK + BOOTSTRAP


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8))
def test_absurd_versions_of_documents_break_nothing(versions: list[str]) -> None:
    absurd = known(guide=versions)
    for question in ("What is it in version 1.2?", "What was it before 1.2.3?"):
        absurd.understood(mentions(question), [question])


MOMENT = datetime(2021, 6, 1, tzinfo=UTC)
NAMES = "What does the guide say in 1.0?"
ORIGIN = "Which version introduced the guide's index?"
PLAIN = "What does the guide say?"


def queries(*rows: dict[str, Any]) -> pl.DataFrame:
    plain = {"texts": [PLAIN], "trigger": []}
    return pl.DataFrame(
        [{"query_id": n, **plain, **row} for n, row in enumerate(rows)], schema=QUERIES
    )


def known_frame(*versions: str) -> pl.DataFrame:
    rows = [
        ("docs", "", "guide", version, place, place == len(versions) - 1, None, None, None, None)
        for place, version in enumerate(versions)
    ]
    return pl.DataFrame([(*row, None) for row in rows], schema=KNOWN_VERSIONS, orient="row")


def decided(row: dict[str, Any], default: str = "newest", understand: bool = True) -> Any:
    scope = version_scope(
        queries(row), known_frame("1.0", "2.0"), default=default, understand=understand
    )
    check(scope, VERSION_SCOPE, "version_scope")
    one = scope.row(0, named=True)
    return one["version_policy"], one["pinned"], one["basis"]


@pytest.mark.parametrize(
    ("row", "default", "expected"),
    [
        ({}, "newest", ("newest", [], "config")),
        ({"texts": [NAMES]}, "newest", ("pinned", [["1.0"]], "question")),
        ({"texts": [NAMES], "version_policy": "all"}, "newest", ("all", [], "input")),
        ({"texts": [NAMES], "version_policy": "newest"}, "all", ("newest", [], "input")),
        ({"texts": [NAMES], "versions": ["2.0"]}, "all", ("pinned", [["2.0"]], "input")),
        ({"versions": ["9"]}, "newest", ("newest", [], "input")),
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


def test_a_note_stands_once_for_each_question_that_it_concerns() -> None:
    batch = queries({"texts": [NAMES, NAMES + " "]}, {}, {"versions": ["9"]})
    scope = version_scope(batch, known_frame("1.0", "2.0"), default="newest", understand=True)
    assert notes(scope)["query_id"].to_list() == [0, 2]


def test_that_other_topics_answer_with_their_newest_is_said_where_there_are_any() -> None:
    alone = known_frame("1.0", "2.0")
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
        queries({"texts": [text]}), known_frame("1.1.0", "1.2.0"), default="newest", understand=True
    )
    assert scope["version_policy"].to_list() == ["newest"]


def test_scoped_queries_keep_everything_else() -> None:
    batch = queries({"texts": [NAMES], "repos": ["a"]}, {"as_of": MOMENT})
    scope = version_scope(batch, known_frame("1.0", "2.0"), default="newest", understand=True)
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
        ({"version_policy": "newest"}, "newest", ("newest", [], "input")),
        ({"texts": [f"{ORIGIN} {NAMES}"]}, "newest", ("pinned", [["1.0"]], "question")),
        ({"texts": ["Which Python version dropped it?"]}, "newest", ("newest", [], "config")),
    ],
)
def test_a_question_in_which_version_something_came_is_answered_from_all(
    row: dict[str, Any], default: str, expected: Any
) -> None:
    assert decided({"texts": [ORIGIN], **row}, default) == expected


def test_a_date_in_a_question_that_hides_nothing_says_how_to_ask_as_of_it() -> None:
    def said(understand: bool = True, **row: Any) -> list[str]:
        asked = queries({"texts": ["What did the guide say before 2020?"], **row})
        scope = version_scope(asked, known_frame("1.0"), default="newest", understand=understand)
        return notes(scope)["note"].to_list()

    (note,) = said()
    assert note.startswith('"before 2020" in the question hides nothing')
    assert "--as-of 2020-01-01" in note
    assert said(as_of=MOMENT) == said(version_policy="all") == said(understand=False) == []
