"""Topics of sections by the history of a repository, on one that the test makes."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from ingested import git

from benchmarks import lineage, section_history
from benchmarks.section_history import (
    FORMS,
    History,
    Truth,
    documents,
    editions,
    judge,
    same_text,
    sections_of,
    truth,
)

URL = "https://github.com/org/spec"
FILES = r"(spec|use/.*)\.(md|rst)"


def said(subject: str, lines: range = range(8)) -> str:
    return "".join(f"Line {number} says what {subject} does.\n" for number in lines)


FIRST = {
    "spec.md": "# Spec\n\n## Reset {#rst}\n\n" + said("a reset")
    + "\n## Errors {#errors}\n\n" + said("an error")
    + "\n## Overview\n\n" + said("all of it")
    + "\n## Streams\n\n" + said("a stream")
    + "\n## Limits\n\n" + said("a limit"),
    "use/start.rst": ".. _start:\n.. _begin:\n\nStart\n=====\n\n" + said("the start"),
    "use/keys.rst": "Keys\n====\n\n" + said("a key") + "\n.. _old keys:\n\nOld\n---\n\nIt was.\n",
}  # fmt: skip
SECOND = {
    # another anchor, same heading; same anchor, all else new; another heading, most of the text;
    # another place and text; gone, and a new one
    "spec.md": "# Spec\n\n## Reset {#reset}\n\n" + said("resetting")
    + "\n## Failures {#errors}\n\n" + said("to fail")
    + "\n## The whole {#whole}\n\n" + said("all of it", range(1, 9))
    + "\n## Parts\n\n### Streams\n\n" + said("parts of streams")
    + "\n## Ends\n\n" + said("an end"),
    "use/start.md": "(begin)=\n\n# How to start\n\n" + said("to start now"),
    "use/keys.rst": "Keys\n====\n\n" + said("a key") + "\nMore\n----\n\nIt is.\n",
    "use/history.rst": "History\n=======\n\n.. _old_keys:\n\nOld\n---\n\nLong ago.\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clone ``org+spec`` with the tags v1 and v2."""
    root = tmp_path_factory.mktemp("clones") / "org+spec"
    root.mkdir()
    git(root, "init", "-q")
    for tag, files in (("v1", FIRST), ("v2", SECOND)):
        for old in root.rglob("*.*"):
            if old.is_file() and ".git" not in old.parts:
                old.unlink()
        for path, text in files.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", tag)
        git(root, "tag", tag)
    return root


@pytest.fixture(scope="module")
def history() -> History:
    return History("spec", URL, {"1": "v1", "2": "v2"}, FILES)


@pytest.fixture(scope="module")
def versions(repository: Path, history: History) -> list[section_history.Edition]:
    return editions(repository, history)


def names(of: list[section_history.Edition], right: Truth) -> list[tuple[str, str]]:
    """The headings of the sections that are one topic in both versions."""
    titles = {section.key: section.title for one in of for section in one.sections}
    return sorted((titles[one], titles[other]) for one, other in right.steps)


def test_a_section_goes_on_by_anchor_headings_or_most_of_its_text(
    versions: list[section_history.Edition],
) -> None:
    assert names(versions, truth(versions)) == [
        ("Errors", "Failures"),  # the anchor
        ("Keys", "Keys"),
        ("Old", "Old"),  # the anchor, in another file
        ("Overview", "The whole"),  # the text
        ("Reset", "Reset"),  # the headings, with another anchor
        ("Spec", "Spec"),
        ("Start", "How to start"),  # one of its anchors, in a file with another ending
    ]


def test_by_anchors_alone_another_anchor_is_another_topic(
    versions: list[section_history.Edition],
) -> None:
    both = names(versions, truth(versions, anchors_alone=True))
    assert both == [
        ("Errors", "Failures"),
        ("Keys", "Keys"),
        ("Spec", "Spec"),
        ("Start", "How to start"),
    ]


def test_a_topic_that_begins_or_ends_without_an_anchor_is_unsure(
    versions: list[section_history.Edition],
) -> None:
    right = truth(versions)
    unsure = {
        (one.version, section.title)
        for one in versions
        for section in one.sections
        if right.topics[section.key] in right.unsure
    }
    without = {("1", "Streams"), ("1", "Limits"), ("2", "Parts"), ("2", "Streams"), ("2", "Ends")}
    assert unsure == {*without, ("2", "More"), ("2", "History")}


def test_a_pair_of_two_topics_is_wrong_unless_both_are_unsure() -> None:
    topics = {"a1": "a", "a2": "a", "a3": "a", "b1": "b", "c1": "c"}
    right = Truth(topics, frozenset("bc"), [("a1", "a2"), ("a2", "a3")])
    one_lineage = {"document_key": ["a1", "a2", "b1", "c1"], "lineage_id": ["x"] * 4}
    assert judge(pl.DataFrame(one_lineage), right) == (1 / 5, 1 / 3, 1 / 2)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# One {#One_part}\n\ntext\n"),
        ("a.md", "# One {: #one-part title='x'}\n\ntext\n"),
        ("a.md", "# One\n{: #one-part}\n\ntext\n"),
        ("a.md", "(one-part)=\n\n# One\n\ntext\n"),
        ("a.rst", ".. _`one part`:\n.. _`other`:\n\n===\nOne\n===\n\ntext\n"),
    ],
)
def test_an_anchor_is_read_and_is_no_text_of_a_section(path: str, text: str) -> None:
    (section,) = sections_of(text, path, "1")
    assert "one-part" in section.anchors
    assert (section.title, section.text.replace("===", "").strip()) == ("One", "text")


def test_titles_have_the_form_numbers_and_name_that_sources_give() -> None:
    found = sections_of("# A\n\n## B\n\n## C\n\n# D\n\n## E\n", "x/spec.md", "05")
    assert [section.number for section in found] == ["1", "1.1", "1.2", "2", "2.1"]
    edition = section_history.Edition("05", datetime(2026, 1, 1, tzinfo=UTC), {}, found[-1:])
    titles = [documents([edition], form)["title"].item() for form in FORMS]
    assert titles == ["E", "2.1. E", "spec-05: 2.1 E"]


def test_the_same_text_is_the_share_of_the_longer_one_in_whole_lines() -> None:
    assert same_text("four\n\n  four\n", "four\n-----\nothers12\n") == 1 / 3
    assert same_text("", "") == 0.0


def test_the_command_prints_a_row_a_form_and_says_what_is_to_fetch(
    repository: Path,
    history: History,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    away = History("away", "https://github.com/org/away", history.revisions, FILES)
    monkeypatch.setattr(section_history, "HISTORIES", {"spec": history, "away": away})
    clones = repository.parent
    monkeypatch.setattr(sys, "argv", ["lineage", "spec", "away", "--clones", str(clones)])
    lineage.main()
    told = capsys.readouterr().out.splitlines()
    assert told[0].split()[:4] == ["set", "titles", "sections", "topics"]
    assert [line.split("  ")[0] for line in told[1:5]] == ["spec"] * 4
    # of 7 pairs to find, "path and heading" has Spec, Reset and Keys
    assert told[1].split()[-3:] == ["1.000", "0.429", "0.429"]
    assert told[5:] == [f"to fetch: git clone --mirror {away.url} {clones}/org+away"]
