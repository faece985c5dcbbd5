"""Real clones that borrow objects: only from the repository that the user named."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import working_tree

from operators.errors import CrosscorpusError
from operators.sources.git.git_process import GitError, git_output
from operators.sources.git.git_source import git_source
from operators.sources.git.repository import open_repository

SAYS = "--objects-from PATH"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", str(tmp_path / "home"))


@pytest.fixture
def clone(repo: Any, tmp_path: Path) -> Path:
    """A clone of ``repo`` that has none of its objects."""
    repo.commit("first", **{"a.py": "1"})
    working_tree.git(tmp_path, "clone", "-q", "--shared", str(repo.path), "clone")
    return tmp_path / "clone"


def alternates(clone: Path, *lines: object) -> None:
    text = "".join(f"{line}\n" for line in lines)
    (clone / ".git" / "objects" / "info" / "alternates").write_text(text)


@pytest.mark.parametrize("named", ["", ".git", ".git/objects"])
def test_a_clone_borrows_from_the_named_repository_and_later_runs_know_it(
    repo: Any, clone: Path, named: str
) -> None:
    with pytest.raises(GitError, match=SAYS) as refused:
        open_repository(clone)
    assert str(repo.path) in str(refused.value)
    head = open_repository(clone, objects_from=repo.path / named).head
    assert open_repository(clone).head == head == repo.git("rev-parse", "HEAD")
    assert "a.py" in {getattr(item, "path", "") for item in git_source(clone).scan()}
    with pytest.raises(GitError, match=SAYS):
        open_repository(clone, objects_from="")
    with pytest.raises(GitError, match=SAYS):
        open_repository(clone)


def test_a_cache_of_a_build_server_is_borrowed_from(repo: Any, tmp_path: Path) -> None:
    repo.commit("first", **{"a.py": "1"})
    working_tree.git(tmp_path, "clone", "-q", "--mirror", str(repo.path), "cache.git")
    more = ("--reference", str(tmp_path / "cache.git"))
    working_tree.git(tmp_path, "clone", "-q", "--no-local", *more, str(repo.path), "job")
    with pytest.raises(GitError, match=SAYS):
        open_repository(tmp_path / "job")
    assert open_repository(tmp_path / "job", objects_from=tmp_path / "cache.git").head


def test_what_is_named_for_one_clone_is_not_named_for_another(
    repo: Any, clone: Path, tmp_path: Path
) -> None:
    open_repository(clone, objects_from=repo.path)
    shutil.copytree(clone, tmp_path / "other")
    with pytest.raises(GitError, match=SAYS):
        open_repository(tmp_path / "other")


@pytest.mark.parametrize(
    "lines",
    [
        ("{private}",),
        ("{store}", "{private}"),
        ("{store}", "../../../private/.git/objects"),
        ('"{store}"',),
        ("{store}/../objects/../../../private/.git/objects",),
        ("{link}",),
    ],
    ids=["another", "a second", "relative", "quoted", "roundabout", "link"],
)
def test_objects_from_anywhere_else_stay_refused(
    repo: Any, clone: Path, tmp_path: Path, lines: tuple[str, ...]
) -> None:
    private = working_tree.WorkingTree(tmp_path / "private")
    private.commit("private", **{"secret.py": "1"})
    (tmp_path / "link").symlink_to(private.path / ".git" / "objects")
    places = {"store": repo.path / ".git/objects", "private": private.path / ".git/objects"}
    alternates(clone, *(line.format(**places, link=tmp_path / "link") for line in lines))
    with pytest.raises(GitError, match=SAYS):
        open_repository(clone, objects_from=repo.path)
    with pytest.raises(GitError, match=SAYS):
        open_repository(clone)


def test_a_named_repository_that_borrows_itself_is_refused(
    repo: Any, clone: Path, tmp_path: Path
) -> None:
    working_tree.git(tmp_path, "clone", "-q", "--shared", str(clone), "chain")
    alternates(tmp_path / "chain", clone / ".git" / "objects")
    assert working_tree.git(tmp_path / "chain", "rev-parse", "HEAD^{tree}")
    with pytest.raises(GitError, match=SAYS) as refused:
        open_repository(tmp_path / "chain", objects_from=clone)
    assert str(repo.path) in str(refused.value)


def test_a_relative_name_of_the_named_repository_is_taken(repo: Any, clone: Path) -> None:
    alternates(clone, os.path.relpath(repo.path / ".git/objects", clone / ".git/objects"))
    assert open_repository(clone, objects_from=repo.path).head


def test_no_variable_of_the_environment_lends_objects(
    repo: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alternates(clone)
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(repo.path / ".git/objects"))
    with pytest.raises(GitError, match=r"no commits yet|bad object"):
        open_repository(clone, objects_from=repo.path)
    with pytest.raises(GitError):
        git_output(clone, "cat-file", "-e", repo.git("rev-parse", "HEAD"))


def test_what_is_no_repository_is_told(clone: Path, tmp_path: Path) -> None:
    with pytest.raises(CrosscorpusError, match="has no git objects: give a repository"):
        open_repository(clone, objects_from=tmp_path / "nothing")
