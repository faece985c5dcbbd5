from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from operators.versions.alignment import Passage
from operators.versions.version_diff import Span, changes, shortened, word_diff

TEXTS = st.lists(st.sampled_from(["a", "b", "c.", " ", "\n", "1.0"]), max_size=30).map("".join)


@given(TEXTS, TEXTS)
def test_the_runs_of_a_diff_are_both_texts(old: str, new: str) -> None:
    runs = word_diff(old, new)
    assert "".join(r.text for r in runs if r.sign != "-") == new
    before = "".join(r.text for r in runs if r.sign != "+")
    assert before.split() == old.split() or "".join(before.split()) == "".join(old.split())


@given(TEXTS)
def test_equal_texts_have_no_change(text: str) -> None:
    assert all(run.sign == "=" for run in word_diff(text, text))


def test_changed_words_that_only_white_space_parts_are_one_change() -> None:
    assert word_diff("keep one two here", "keep three four here") == [
        Span("=", "keep "), Span("-", "one two"), Span("+", "three four"), Span("=", " here"),
    ]  # fmt: skip


def test_only_some_words_around_a_change_are_shown() -> None:
    runs = shortened(word_diff("x " * 50 + "old " + "y " * 50, "x " * 50 + "new " + "y " * 50), 2)
    assert "".join(run.text for run in runs) == " … x x oldnew y y … "


def test_paragraphs_are_compared_wherever_a_version_was_cut() -> None:
    parts = [f"Paragraph {n} speaks of subject{n} at some length." for n in range(6)]
    old = [Passage(None, "\n\n".join(parts[:3])), Passage(None, "\n\n".join(parts[3:]))]
    new = [Passage(None, "\n\n".join(parts[:5])), Passage(None, parts[5])]
    assert changes(old, new) == []


def test_changes_stand_in_the_order_of_the_new_version() -> None:
    def prose(word: str) -> str:
        return f"The {word} is what this paragraph about {word} tells of, and of the {word} alone."

    old = [
        Passage("H", "\n\n".join([prose("cache"), prose("printer"), prose("disk") + " Limit 5."]))
    ]
    new = [
        Passage("H", "\n\n".join([prose("cache"), prose("disk") + " Limit 7.", "Quite new here."]))
    ]
    found = changes(old, new)
    assert [c.kind for c in found] == ["removed", "revised", "added"]
    assert {c.heading for c in found} == {"H"}
