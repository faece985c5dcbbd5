"""Topics of sections by the history of a repository, on one that the test makes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from ingested import git

from benchmarks import lineage, section_history
from benchmarks.section_history import (
    History,
    Truth,
    editions,
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
