"""What a question names, and what a text with numbers in it does not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.versions.asking import LONGEST
from operators.versions.introduced_in import origin_asked
from operators.versions.mentions import Mention, mentions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does it return in 3.5.3?", ["3.5.3"]),
        ("In v5.3, how do I use modals?", ["5.3"]),
        ("What is new in bootstrap v5?", ["5"]),
        ("How does it behave on 0.21.x?", ["0.21.x"]),
        ("What changed between 5.3.3 and 5.3.4?", ["5.3.3", "5.3.4"]),
        ("What changed in Node.js 16 and 18?", ["16", "18"]),
        ("Does section 4 of 0.21.0 mention it?", ["0.21.0"]),
    ],
)
def test_a_question_names_a_version(text: str, expected: list[str]) -> None:
    assert [mention.written for mention in mentions(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Fix a regression in pytest 8.0.0 whereby autouse fixtures are lost",
        "What is scheduled for removal in 2.0?",
        "Does it work with Python 3.9 or newer?",
        "What is in docs/v1.2/guide.md?",
        "How is it different from 0.20?",
        "Why does this fail?\n```\nversion 3.5.3\n```",
        "Which version added it?",
        "Why is the limit 30?",
        "????",
    ],
)
def test_a_number_that_asks_for_no_version_names_none(text: str) -> None:
    assert mentions(text) == []


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("How did it work before 2022?", datetime(2022, 1, 1, tzinfo=UTC)),
        ("What did the page say as of March 2021?", datetime(2021, 4, 1, tzinfo=UTC)),
        ("Why was it as it was in 2020 and not later?", datetime(2021, 1, 1, tzinfo=UTC)),
        ("What was the default on page one prior to 5 May 2020?", datetime(2020, 5, 5, tzinfo=UTC)),
    ],
)
def test_a_question_names_a_date(text: str, until: datetime) -> None:
    (mention,) = mentions(text)
    assert mention.until == until


@pytest.mark.parametrize(
    "text",
    [
        "This was decided before 2022.",
        "What happened in issue 2021?",
        "What was it before 2021-13-45?",
        "Why does the server fail at 2000 connections?",
        "What breaks by 2010 threads?",
    ],
)
def test_a_text_without_a_date_that_it_asks_for_names_none(text: str) -> None:
    assert [mention for mention in mentions(text) if mention.until] == []


def test_the_versions_before_one_are_asked_for() -> None:
    assert mentions("How did getblock work before 0.18?") == [
        Mention("0.18", governor="before", before=True)
    ]
    assert mentions("What did it return prior to v0.16?")[0].before


def test_a_long_report_names_none() -> None:
    assert mentions("What about 3.5.3? " + "word " * 100) == []


def test_a_token_of_thousands_of_characters_is_no_version() -> None:
    for token in ("1." * 990, "a" * 1_990, "." * 1_990):
        assert mentions(f"{token} 1?") == []


@given(st.text(max_size=3 * LONGEST))
def test_no_text_breaks_it(text: str) -> None:
    origin_asked(text + "?")
    for mention in mentions(text):
        assert mention.written


@given(
    st.lists(st.integers(0, 999), min_size=3, max_size=4),
    st.sampled_from(["in", "for", "of", "on", "under"]),
    st.sampled_from(["", "v", "version ", "release ", "Spark ", "the Spark version "]),
)
def test_any_version_is_found_after_a_preposition(
    parts: list[int], preposition: str, mark: str
) -> None:
    version = ".".join(map(str, parts))
    found = mentions(f"What does the page say {preposition} {mark}{version}?")
    assert [mention.written for mention in found] == [version]


@given(st.lists(st.integers(0, 999), min_size=2, max_size=4))
def test_no_statement_about_a_version_asks_for_it(parts: list[int]) -> None:
    version = ".".join(map(str, parts))
    assert mentions(f"The old flag was removed in {version}, use the new one instead.") == []
    assert mentions(f"Fixed a crash of the parser in {version}.") == []


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("Which version introduced the option?", []),
        ("With what Node.js version was error code ERR_ACCESS_DENIED added?", ["Node.js"]),
        ("From which version on has the field been deprecated?", []),
        ("In what release of the Node API was it changed?", ["of", "the", "Node", "API"]),
        ("Tell me in which release the call was removed.", []),
        ("It fails here. Which version fixed it?", []),
    ],
)
def test_a_question_for_an_origin_is_understood(text: str, of: list[str] | None) -> None:
    assert origin_asked(text) == of


@pytest.mark.parametrize(
    "text",
    [
        "What was added in the newest version?",
        "What is the version field that was added?",
        "Why does it fail since when I upgraded?",
        "Added a note that says which version introduced the option.",
        "What does `which version added it` print?",
        "word " * 90 + "which version added it?",
    ],
)
def test_a_question_about_something_else_is_left_alone(text: str) -> None:
    assert origin_asked(text) is None
