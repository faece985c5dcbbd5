"""Which questions ask in which version something came, and which only sound so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.versions.introduced_in import origin_asked


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("Which version introduced the option?", []),
        ("Which release first added descriptor wallets?", []),
        ("In which release was the fee estimator removed?", []),
        ("In what version did they add the flag?", []),
        ("With what Node.js version was error code ERR_ACCESS_DENIED added?", ["Node.js"]),
        ("What version introduced a change for the error code in Node.js?", []),
        ("Which Apache Release improved the behavior of the function?", ["Apache"]),
        ("Which major versions dropped support for it?", ["major"]),
        ("From which version on has the field been deprecated?", []),
        ("Which version of Spark added it?", ["of", "Spark"]),
        ("In what release of the Node API was it changed?", ["of", "the", "Node", "API"]),
        ("Since when is the option deprecated?", []),
        ("Since which version does it return a list?", []),
        ("When was the argument introduced?", []),
        ("When was `getblock` deprecated?", []),
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
        "What changed in the last release?",
        "What is new in the version that added it?",
        "Which version should I use to add a wallet?",
        "Which version is it?",
        "What version of the software are you using?",
        "Which versions are there?",
        "Which versions of the parser that was added are there?",
        "Which versions of Python does it run on?",
        "What type of release is this?",
        "Which release is used when a field is added?",
        "What is the version field that was added?",
        "When is the header added?",
        "When was the transaction added to the pool?",
        "When was the block removed from the index?",
        "Why does it fail since when I upgraded?",
        "Since when I upgraded it fails, why?",
        "Why was the option added?",
        "How do I see which version it is?",
        "Added a note that says which version introduced the option.",
        "The page says which version introduced it.",
        "What does `which version added it` print?",
        "word " * 90 + "which version added it?",
        "",
        "????",
    ],
)
def test_a_question_about_something_else_is_left_alone(text: str) -> None:
    assert origin_asked(text) is None


@given(st.text(max_size=300))
def test_any_text_is_taken(text: str) -> None:
    assert origin_asked(text + "?") in (None, []) or origin_asked(text + "?")
