from __future__ import annotations

import time
from dataclasses import astuple
from typing import Any

import pytest

from operators.sources.git.git_source import git_source
from operators.sources.git.repository import GitError
from operators.sources.protocol import Document, ReadIssue

EPOCH = 1_600_000_000


def test_sources_commits_and_prose_go_to_their_corpora(repo: Any) -> None:
    repo.commit("first", **{"src/a.py": "x = 1\n", "Makefile": "all:\n", "README.md": "# App\n"})
    assert set(repo.documents("code")) == {"src/a.py", "Makefile"}
    assert [d.title for d in repo.documents("history").values()] == ["first"]
    assert {d.path: d.title for d in repo.documents("docs").values()} == {"README.md": "App"}


def test_prose_is_read_before_sources_and_after_commits(repo: Any) -> None:
    files = {"A.py": "1", "a.md": "a", "docs/z.md": "z", "z.py": "1"}
    repo.commit("first", **files)
    read = [(item.corpus, item.path) for item in repo.scan() if isinstance(item, Document)]
    assert read[0][0] == "history"
    assert [path for _, path in read[1:]] == ["a.md", "docs/z.md", "A.py", "z.py"]


def test_a_new_commit_changes_only_the_documents_it_touched(repo: Any) -> None:
    repo.git("remote", "add", "origin", "git@github.com:org/app.git")
    repo.commit("one", **{"a.py": "1", "b.py": "1"})
    before = {astuple(item) for item in repo.scan()}
    repo.commit("two", EPOCH + 10, **{"b.py": "2"})
    after = {astuple(item) for item in repo.scan()}
    assert sorted(row[4] for row in after - before) == ["2", "two\n\nFiles:\nb.py\n"]


def test_the_folder_names_the_repo_without_a_remote_and_an_option_names_it_anyhow(
    repo: Any,
) -> None:
    repo.commit("first", **{"a.py": "1"})
    assert repo.documents("code")["a.py"].repo == "app"
    source = git_source(repo.path, "org/other")
    assert {d.repo for d in source.scan() if isinstance(d, Document)} == {"org/other"}
    assert source.scopes == tuple((c, "org/other") for c in ("code", "history", "docs"))


@pytest.mark.parametrize(
    ("exclude", "left", "reasons"),
    [
        (["tests"], {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}, {"tests": "2"}),
        (["tests/"], {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}, {"tests/": "2"}),
        (
            ["*_snap.py", "app.py"],
            {"README.md", "lib/tests.py", "tests/deep/b.py", "tests/test_app.py"},
            {"*_snap.py": "1", "app.py": "1"},
        ),
        (["."], set[str](), {".": "6"}),
        (
            ["vendor"],
            {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}
            | {"tests/deep/b.py", "tests/test_app.py"},
            {"vendor": "matches no tracked file"},
        ),
    ],
)
def test_what_is_excluded_is_left_out_and_counted_and_its_commits_stay(
    repo: Any, exclude: list[str], left: set[str], reasons: dict[str, str]
) -> None:
    names = ["README.md", "app.py", "lib/a_snap.py", "lib/tests.py"]
    names += ["tests/deep/b.py", "tests/test_app.py"]
    repo.commit("all of it", **dict.fromkeys(names, "x = 1\n"))
    items = repo.scan(exclude=exclude)
    found = {item.document_id for item in items if isinstance(item, Document)}
    (whole,) = [i for i in items if isinstance(i, Document) and i.corpus == "history"]
    assert found - {whole.document_id} == left
    assert all(name in whole.text for name in names)
    left_out = git_source(repo.path, exclude=exclude).left_out
    assert {name for name in names if not left_out(("code", "", name))} == left
    assert not left_out(whole.key)
    issues = {item.where: item.reason for item in items if isinstance(item, ReadIssue)}
    assert issues.keys() == reasons.keys()
    assert all(issues[pattern].endswith(said) for pattern, said in reasons.items())
    assert not any(item.failed for item in items if isinstance(item, ReadIssue))


@pytest.mark.parametrize(
    "pattern", ["", ":!a.py", "\0", "../other", "a/../../b", "/elsewhere", "[a"]
)
def test_a_pattern_that_excludes_nothing_of_the_tree_is_refused(repo: Any, pattern: str) -> None:
    repo.commit("one", **{"a.py": "x = 1\n"})
    with pytest.raises(GitError, match=r"no pattern of files|is outside repository"):
        git_source(repo.path, exclude=[pattern])


@pytest.mark.parametrize("pattern", ["**/*a*a*a/**/*a*a*a/**/*b", "*a" * 50 + "*b"])
def test_no_pattern_to_exclude_takes_long_for_a_long_path(repo: Any, pattern: str) -> None:
    repo.commit("one", **{"/".join(["a" * 200] * 18) + "/x.py": "1"})
    started = time.monotonic()
    assert len(repo.scan(exclude=[pattern])) == 3
    assert time.monotonic() - started < 10
