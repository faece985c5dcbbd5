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
        ("What does it return in Spark 3.5.3, and in v3.3?", ["3.5.3", "3.3"]),
        ("What is the signature of the Error class in Node.js version 16.20.2?", ["16.20.2"]),
        ("What type of release is Apache Spark 2.4.7?", ["2.4.7"]),
        ("In v5.3, how do I use modals?", ["5.3"]),
        ("I'm using Node.js 16.20.2. What does ERR_X mean?", ["16.20.2"]),
        ("We are on 5.3.3, why does the modal not open?", ["5.3.3"]),
        ("spark 3.5.3 release notes", ["3.5.3"]),
        ("Tell me what getblock returns in version 22.", ["22"]),
        ("What is new in bootstrap v5?", ["5"]),
        ("How does it behave on 0.21.x?", ["0.21.x"]),
        ("Is `3.5.3` supported?", ["3.5.3"]),
        ("Show the Spark (3.5.3) release notes", ["3.5.3"]),
        ("Does 1.0.0-rc.1 have it?", ["1.0.0-rc.1"]),
        ("What changed between 5.3.3 and 5.3.4?", ["5.3.3", "5.3.4"]),
        ("How do I upgrade from 5.2 to 5.3?", ["5.2", "5.3"]),
        ("What did they change compared to 3.5?", ["3.5"]),
        ("What changed in Node.js 16 and 18?", ["16", "18"]),
        ("What did Bitcoin add in 0.21?", ["0.21"]),
        ("What about 3.5.3?", ["3.5.3"]),
        ("What does it return in 0.20 vs. 0.21?", ["0.20", "0.21"]),
        ("What does it return in **0.20**?", ["0.20"]),
        ("My project uses Bootstrap 5.3. How do modals work?", ["5.3"]),
        ("compare 5.3.3 vs 5.3.4", ["5.3.3", "5.3.4"]),
        ("What changed in 5.3.3, 5.3.4 and 5.3.5?", ["5.3.3", "5.3.4", "5.3.5"]),
        ("How does 3.3.4 differ compared to 3.5.3?", ["3.3.4", "3.5.3"]),
        ("Was it added in 0.21?", ["0.21"]),
        ("Does section 4 of 0.21.0 mention it?", ["0.21.0"]),
    ],
)
def test_a_question_names_a_version(text: str, expected: list[str]) -> None:
    assert [mention.written for mention in mentions(text)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Fix a regression in pytest 8.0.0 whereby autouse fixtures are lost",
        "To use `signrawtransaction` in v0.17, restart bitcoind.",
        "Clients must transition before upgrading to v0.18.",
        "Since 0.20, the field returns a list, as notified in the 0.20 release notes.",
        "What is scheduled for removal in 2.0?",
        "What replaced it, which was removed in 0.18?",
        "Is the option deprecated since 0.21?",
        "What must I do before upgrading to v0.18?",
        "How do I migrate to 5.3?",
        "Does it work with Python 3.9 or newer?",
        "Does it need 3.9+?",
        "Does pip install foo==1.2.3 work?",
        "What is in docs/v1.2/guide.md?",
        "What does https://example.org/tree/0.17/doc say?",
        "What does --depth=1.2.3 do?",
        "What does `call(3.5.3)` do?",
        "Is foo >= 1.5.0 needed?",
        "How is it different from 0.20?",
        "Is an accuracy of 50.0 % enough?",
        "What is in §4.1.2?",
        "What does a learning rate of 1.5 do?",
        "What is in Sections 3.3 and 3.4?",
        "Why does this fail?\n```\nversion 3.5.3\n```",
        "How long is 5.3 ms?",
        "Why is it 17.4% smaller?",
        "What is the size of 3.3?",
        "Which version added it?",
        "What does PEP 440 say?",
        "Why is the limit 30?",
        "Is spark_3.5.3.pdf there?",
        "What is at 127.0.0.1:8080?",
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
        ("What did the page say as of 2021-03-15?", datetime(2021, 3, 16, tzinfo=UTC)),
        ("Why was it as it was in 2020 and not later?", datetime(2021, 1, 1, tzinfo=UTC)),
        ("What was it at the end of 2020?", datetime(2021, 1, 1, tzinfo=UTC)),
        ("What was the default on page one prior to 5 May 2020?", datetime(2020, 5, 5, tzinfo=UTC)),
        ("What was the default until Jan 5, 2021?", datetime(2021, 1, 5, tzinfo=UTC)),
    ],
)
def test_a_question_names_a_date(text: str, until: datetime) -> None:
    (mention,) = mentions(text)
    assert mention.until == until


@pytest.mark.parametrize(
    "text",
    [
        "This was decided before 2022.",
        "What changed since 2021?",
        "What happened in issue 2021?",
        "What was it before 2021-13-45?",
        "Why does the server fail at 2000 connections?",
        "How many rows are read in 2000 ms?",
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
        ("In which release was the fee estimator removed?", []),
        ("In what version did they add the flag?", []),
        ("With what Node.js version was error code ERR_ACCESS_DENIED added?", ["Node.js"]),
        ("Which Apache Release improved the behavior of the function?", ["Apache"]),
        ("From which version on has the field been deprecated?", []),
        ("In what release of the Node API was it changed?", ["of", "the", "Node", "API"]),
        ("Since when is the option deprecated?", []),
        ("When was the argument introduced?", []),
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
        "What is new in the version that added it?",
        "Which version should I use to add a wallet?",
        "What version of the software are you using?",
        "Which versions are there?",
        "Which versions of the parser that was added are there?",
        "Which versions of Python does it run on?",
        "Which release is used when a field is added?",
        "What is the version field that was added?",
        "When is the header added?",
        "When was the transaction added to the pool?",
        "Why does it fail since when I upgraded?",
        "Why was the option added?",
        "How do I see which version it is?",
        "Added a note that says which version introduced the option.",
        "What does `which version added it` print?",
        "word " * 90 + "which version added it?",
        "????",
    ],
)
def test_a_question_about_something_else_is_left_alone(text: str) -> None:
    assert origin_asked(text) is None
