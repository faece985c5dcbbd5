"""Ranges of commits of real repositories, as patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import working_tree

from operators.review.changes import Change, read_change
from operators.sources.git import commit_range
from operators.sources.git.commit_range import change_between
from operators.sources.git.git_process import GitError

LINES = "".join(f"line {number}\n" for number in range(20))


def change(repository: Path, named: str) -> Change:
    found = change_between(repository, named)
    assert found.note is None
    return read_change(found.patch)


def kinds(repository: Path, named: str) -> dict[str, tuple[str | None, str]]:
    """Each file's path before and its kind, by its path."""
    return {file.path: (file.old_path, file.kind) for file in change(repository, named).files}


@pytest.fixture
def forked(repo: Any) -> Any:
    """``main`` and ``side`` have a commit each after the first; ``side`` is checked out."""
    repo.commit("first", **{"a.py": "1\n", "b.py": "1\n"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", **{"b.py": "2\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", **{"a.py": "2\n"})
    repo.git("checkout", "-q", "side")
    return repo


def refusal(repository: Path, named: str) -> str:
    with pytest.raises(GitError) as refused:
        change_between(repository, named)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_two_dots_compare_the_two_commits_and_name_those_of_the_range(repo: Any) -> None:
    ids = [repo.commit(f"c{n}", working_tree.EPOCH + n, **{"a.py": f"{n}\n"}) for n in range(4)]
    repo.git("tag", "-a", "-m", "a tag", "v1")
    for named in (f"{ids[1]}..{ids[3]}", f"{ids[1][:12]}..main", "main~2..", "HEAD~2..v1"):
        found = change_between(repo.path, named)
        assert (found.base, found.head) == (ids[1], ids[3])
        assert found.commits == (ids[3], ids[2])
        (hunk,) = read_change(found.patch).files[0].hunks
        assert (hunk.removed, hunk.added) == (((1, "1"),), ((1, "3"),))


def test_three_dots_compare_with_the_commit_at_which_the_head_left_the_base(forked: Any) -> None:
    assert set(kinds(forked.path, "main...side")) == set(kinds(forked.path, "main...")) == {"b.py"}
    assert set(kinds(forked.path, "main..side")) == {"a.py", "b.py"}
    found = change_between(forked.path, "main...side")
    assert found.base == forked.git("rev-parse", "main~1")
    assert found.commits == (forked.git("rev-parse", "side"),)
    assert change_between(forked.path, "main..side").commits == found.commits


def test_renames_modes_and_binary_files_are_told_whatever_the_configuration_says(
    repo: Any,
) -> None:
    repo.commit("first", **{"old name.py": LINES, "run.sh": "x\n", "gone": "x\n", "p.bin": b"\0a"})
    repo.git("mv", "old name.py", "ä.py")
    repo.write("ä.py", LINES + "more\n")
    (repo.path / "run.sh").chmod(0o755)
    (repo.path / "gone").unlink()
    repo.commit("second", **{"p.bin": b"\0b", "new.py": "n\n"})
    plain = change_between(repo.path, "HEAD~1..HEAD")
    assert kinds(repo.path, "HEAD~1..HEAD") == {
        "ä.py": ("old name.py", "renamed"),
        "run.sh": ("run.sh", "mode"),
        "gone": ("gone", "deleted"),
        "p.bin": ("p.bin", "binary"),
        "new.py": (None, "added"),
    }
    for key, value in {
        "diff.renames": "false", "diff.noprefix": "true", "diff.mnemonicPrefix": "true",
        "color.ui": "always", "color.diff": "always", "diff.relative": "true", "diff.context": "9",
        "diff.algorithm": "patience", "diff.interHunkContext": "9", "diff.orderFile": "order",
    }.items():  # fmt: skip
        repo.git("config", key, value)
    assert change_between(repo.path, "HEAD~1..HEAD") == plain


def test_a_submodule_is_told_as_such_whatever_the_configuration_says(
    repo: Any, tmp_path: Path
) -> None:
    library = working_tree.WorkingTree(tmp_path / "library")
    first = library.commit("first", **{"l.py": "1"})
    second = library.commit("second", **{"l.py": "2"})
    modules = '[submodule "lib"]\npath = lib\nurl = ../library\nignore = all\n'
    repo.commit("first", **{".gitmodules": modules})
    for commit in (first, second):
        repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
        repo.git("commit", "-q", "-m", "lib")
    for key, value in {
        "diff.submodule": "diff", "diff.ignoreSubmodules": "all", "submodule.lib.ignore": "all",
    }.items():  # fmt: skip
        repo.git("config", key, value)
    assert kinds(repo.path, "HEAD~2..HEAD~1") == {"lib": (None, "submodule")}
    assert kinds(repo.path, "HEAD~1..HEAD") == {"lib": ("lib", "submodule")}


@pytest.mark.parametrize("name", ["-x", "--output=trap"])
def test_a_name_that_looks_like_an_option_is_a_name(repo: Any, name: str) -> None:
    first = repo.commit("first", **{"a.py": "1\n"})
    repo.commit("second", **{"a.py": "2\n"})
    for named in (f"{name}..main", f"main...{name}"):
        assert f"has no commit '{name}'" in refusal(repo.path, named)
    repo.git("update-ref", f"refs/heads/{name}", first)
    assert change_between(repo.path, f"{name}..main").base == first
    assert not (repo.path / "trap").exists()


@pytest.mark.parametrize("name", ["nothing", "^main", "ma\0in", "x" * 200_000, "HEAD:a.py"])
def test_a_commit_that_is_not_there_is_refused_with_what_to_give(repo: Any, name: str) -> None:
    repo.commit("first", **{"a.py": "1\n"})
    for named in (f"{name}..main", f"main..{name}", f"{name}...main"):
        said = refusal(repo.path, named)
        assert "give a branch, a tag or the id of a commit, or run git fetch first" in said
        assert len(said) < 1000


@pytest.mark.parametrize("named", ["", "main", "a..b..c", "a...b...c"])
def test_what_is_no_range_is_refused_with_the_form_to_give(repo: Any, named: str) -> None:
    repo.commit("first", **{"a.py": "1\n"})
    said = refusal(repo.path, named)
    assert "give BASE..HEAD" in said or "give a branch" in said


def test_a_range_without_a_commit_or_a_change_is_refused(repo: Any) -> None:
    repo.commit("first", **{"a.py": "1\n"})
    repo.commit("second", **{"a.py": "2\n"})
    repo.commit("back", **{"a.py": "1\n"})
    for named in ("main..main", "main..main~1", "main...main~1", "main.."):
        assert f"'{named}' is empty" in refusal(repo.path, named)
    assert "changes no file" in refusal(repo.path, "main~2..main")


def test_a_base_that_a_shallow_clone_lacks_is_to_be_fetched(repo: Any, tmp_path: Path) -> None:
    first = repo.commit("first", **{"a.py": "1\n"})
    repo.commit("second", **{"a.py": "2\n"})
    working_tree.git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo.path}", "clone")
    for named in (f"{first}..HEAD", "HEAD~1..HEAD"):
        assert "run git fetch --unshallow first" in refusal(tmp_path / "clone", named)


def test_a_long_patch_is_cut_between_two_files_with_a_note(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("first", **{"z": ""})
    repo.commit("second", **{f"f{number:03}": LINES for number in range(500)})
    monkeypatch.setattr(commit_range, "MAX_PATCH", 50_000)
    found = change_between(repo.path, "main~1..main")
    assert found.note == f"the patch was cut after {len(found.patch)} bytes"
    assert 49_000 < len(found.patch) <= 50_000
    read = read_change(found.patch)
    assert not read.notes
    assert {len(file.hunks[0].added) for file in read.files} == {20}
