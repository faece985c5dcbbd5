"""Filters of other frameworks are our options, and what is none is an error."""

from __future__ import annotations

import pytest

from dataflow.frameworks.filters import joined, options_of, question
from operators.errors import CrosscorpusError, UnknownName


def test_names_of_the_metadata_are_names_of_options() -> None:
    given = {"corpus": "code", "repo": ["a/b"], "path": "src/", "version": "3.5", "language": None}
    expected = {"corpora": "code", "repos": ["a/b"], "path": "src/", "version": "3.5"}
    assert options_of(given) == expected


def test_conditions_may_name_several_values() -> None:
    given = [("repos", "in", ["a", "b"]), ("as_of", "==", "2026-01-01"), ("until", "==", "v2.1")]
    assert joined(given) == {"repos": ["a", "b"], "as_of": "2026-01-01", "until": "v2.1"}


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([("repoo", "==", "a")], "unknown filter 'repoo', did you mean 'repo'?"),
        ([("repo", "!=", "a")], "filter 'repo' takes == or in, not '!='"),
        ([("created_at", "<", "a")], "unknown filter 'created_at'; known: as_of, "),
        ([("path", "in", ["a"])], "filter 'path' takes ==, not 'in'"),
        ([("repo", "==", "a"), ("repos", "==", "b")], "filter 'repos' is given twice: "),
        ([("repo", "==", None)], "filter 'repo' has no value: "),
    ],
)
def test_what_has_no_meaning_here_is_an_error(
    conditions: list[tuple[str, str, object]], said: str
) -> None:
    with pytest.raises(CrosscorpusError) as raised:
        joined(conditions)
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize("name", ["principals", "top_k", "query"])
def test_a_filter_can_not_say_who_asks(name: str) -> None:
    with pytest.raises(UnknownName):
        options_of({name: ["root"]})


def test_a_later_option_takes_the_place_of_an_earlier_one_and_who_asks_stays() -> None:
    asked = question(3, {"repos": "a", "path": "b"}, {"repos": "c"}, principals=["ann"])
    expected = {"top_k": 3, "trigger": None, "repos": "c", "path": "b", "principals": ["ann"]}
    assert asked == expected
    assert "principals" not in question(3)
    assert question(3, principals=[])["principals"] == []
