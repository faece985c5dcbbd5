"""What two versions of a text have in common, and where they differ."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.versions.alignment import Passage, align
from operators.versions.text_sketches import SIZE, alike, sketch
from operators.versions.version_diff import changes

WORDS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=12).map(" ".join)
PASSAGES = st.lists(st.builds(Passage, st.sampled_from([None, "One", "Two"]), WORDS), max_size=12)

PROSE = (
    "The cache keeps at most one hundred entries for each user of the machine.",
    "Printing goes through the spooler which is restarted every night at four.",
    "Backups are written to the second disk before the nightly restart begins.",
    "Mail that cannot be delivered is returned to its sender after three days.",
)


def passages(*texts: str, heading: str | None = None) -> list[Passage]:
    return [Passage(heading, text) for text in texts]


@given(PASSAGES)
def test_a_version_is_the_same_as_itself(version: list[Passage]) -> None:
    pairs = align(version, version)
    assert [pair.relation for pair in pairs] == ["same"] * len(version)
    assert [pair.old for pair in pairs] == list(range(len(version)))


@given(PASSAGES, PASSAGES)
def test_every_old_passage_is_told_of_once_and_new_ones_hold_nothing_old(
    old: list[Passage], new: list[Passage]
) -> None:
    pairs = align(old, new)
    assert [pair.old for pair in pairs if pair.relation != "new"] == list(range(len(old)))
    added = [pair.new for pair in pairs if pair.relation == "new"]
    assert len(set(added)) == len(added)
    assert not set(added) & {pair.new for pair in pairs if pair.old is not None}
    for pair in pairs:
        assert (pair.old is None) == (pair.relation == "new")
        assert (pair.new is None) == (pair.relation == "gone")


def test_white_space_is_no_change() -> None:
    assert align(passages("a  b\n c"), passages("a b c "))[0].relation == "same"


def test_a_changed_number_is_a_revision() -> None:
    old = passages(*PROSE)
    new = passages(PROSE[0].replace("one", "two"), *PROSE[1:])
    assert [p.relation for p in align(old, new)] == ["revised", "same", "same", "same"]


def test_what_has_no_counterpart_is_gone_and_new() -> None:
    old, new = passages(*PROSE[:3]), passages(PROSE[0], PROSE[3], PROSE[2])
    assert [(p.old, p.new, p.relation) for p in align(old, new)] == [
        (0, 0, "same"), (1, None, "gone"), (2, 2, "same"), (None, 1, "new"),
    ]  # fmt: skip


def test_a_passage_cut_in_two_is_still_there() -> None:
    whole = f"{PROSE[0]} {PROSE[1]}"
    one, two = (
        align(passages(whole), passages(*PROSE[:2])),
        align(passages(*PROSE[:2]), passages(whole)),
    )
    assert [p.relation for p in one] == ["same"]
    assert [(p.new, p.relation) for p in two] == [(0, "same"), (0, "same")]


def test_cuts_in_other_places_change_nothing() -> None:
    words = " ".join(PROSE).split()
    old = passages(*(" ".join(words[n : n + 10]) for n in range(0, len(words), 10)))
    new = passages(*(" ".join(words[n : n + 13]) for n in range(0, len(words), 13)))
    assert {p.relation for p in align(old, new)} == {"same"}


def test_a_passage_that_was_moved_is_the_same() -> None:
    old, new = passages(*PROSE), passages(PROSE[3], *PROSE[:3])
    assert [(p.new, p.relation) for p in align(old, new)] == [
        (1, "same"), (2, "same"), (3, "same"), (0, "same"),
    ]  # fmt: skip


def test_a_passage_that_was_moved_and_revised_is_not_gone() -> None:
    moved = PROSE[3].replace("three", "seven")
    assert align(passages(*PROSE), passages(moved, *PROSE[:3]))[3][1:] == (0, "revised")


def test_a_heading_in_common_makes_a_rewritten_section_a_revision() -> None:
    one, two = "Entries in the cache are kept by size", "The size of entries is what decides here"
    before, after = passages("intro"), passages("intro")
    plain = align(before + passages(one), after + passages(two))
    under = align(before + passages(one, heading="Size"), after + passages(two, heading="Size"))
    assert plain[1].relation == "gone"
    assert under[1].relation == "revised"


def test_long_versions_without_anything_in_common_are_compared_in_blocks() -> None:
    old = passages(*(f"old{n} passage{n} text{n}" for n in range(700)))
    new = passages(*(f"new{n} words{n} here{n}" for n in range(900)))
    assert {p.relation for p in align(old, new)} == {"gone", "new"}


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


SKETCHED = st.lists(st.sampled_from([f"w{n}" for n in range(30)]), max_size=60).map(" ".join)


@given(SKETCHED)
def test_a_text_with_words_is_like_itself(text: str) -> None:
    assert alike(sketch(text), sketch(text)) == (1.0 if text else 0.0)


@given(SKETCHED, SKETCHED)
def test_short_texts_are_compared_exactly(one: str, two: str) -> None:
    pairs = [set(zip(t.split(), t.split()[1:], strict=False)) for t in (one, two)]
    if min(map(len, pairs)) > 0:
        exact = len(pairs[0] & pairs[1]) / len(pairs[0] | pairs[1])
        assert alike(sketch(one), sketch(two)) == pytest.approx(exact)


@pytest.mark.parametrize("share", [0.0, 0.6])
def test_the_likeness_of_long_texts_is_estimated(share: float) -> None:
    chance = random.Random(7)
    words = [f"x{n}" for n in range(4000)]
    chance.shuffle(words)
    one = " ".join(words[:2000])
    kept = round(2000 * 2 * share / (1 + share))
    two = " ".join(words[:kept] + words[2000 : 2000 + 2000 - kept])
    assert abs(alike(sketch(one), sketch(two)) - share) < 0.15


def test_a_sketch_is_bounded() -> None:
    hashes = sketch(" ".join(f"word{n}" for n in range(10_000)))
    assert len(hashes) == SIZE
    assert (np.diff(hashes.astype(np.int64)) > 0).all()
