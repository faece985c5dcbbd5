"""What git knows of a change beside its patch."""

from __future__ import annotations

from pathlib import Path

import pytest
from ingested import commit, git

from operators.sources.git.range_facts import line_commits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three commits: five lines, then two of them changed, then one."""
    git(tmp_path, "init", "-q")
    for number, text in enumerate(("a\nb\nc\nd\ne\n", "a\nB\nC\nd\ne\n", "a\nB\nC\nd\nE\n")):
        (tmp_path / "f.txt").write_text(text)
        commit(tmp_path, f"Change {number}\n\nBecause of {number}.")
    return tmp_path


def commits(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%H").split()


def test_the_commits_of_lines_are_those_that_made_most_of_them_first(folder: Path) -> None:
    newest, middle, first = commits(folder)
    assert line_commits(folder, newest, [("f.txt", 1, 4)]) == sorted([middle, first])
    assert line_commits(folder, newest, [("f.txt", 2, 4), ("f.txt", 3, 3)])[0] == middle
    assert line_commits(folder, middle, [("f.txt", 5, 5)]) == [first]


def test_what_git_cannot_blame_counts_for_nothing(folder: Path) -> None:
    newest, *_ = commits(folder)
    places = [("gone.txt", 1, 2), ("f.txt", 90, 99), (":(top)f.txt", 1, 1), ("f.txt", 5, 5)]
    assert line_commits(folder, newest, places) == [newest]
    assert line_commits(folder, newest, []) == []


def test_no_program_of_the_repository_runs_and_none_of_its_lists_is_read(folder: Path) -> None:
    newest, middle, _ = commits(folder)
    ran = folder / "ran"
    git(folder, "config", "diff.odd.textconv", f"touch {ran};cat")
    git(folder, "config", "blame.ignoreRevsFile", str(folder / "ignored"))
    (folder / "ignored").write_text(f"{middle}\n")
    (folder / ".gitattributes").write_text("*.txt diff=odd\n")
    assert line_commits(folder, newest, [("f.txt", 2, 2)]) == [middle]
    assert not ran.exists()
