"""What changed in a working tree since a run, told without running anything of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import working_tree

from operators.sources.git.repository import open_repository
from operators.sources.git.unread_changes import changed_since

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def changes(repo: Any, since: datetime = LONG_AGO) -> str | None:
    """What a run over the checked-out commit did not read."""
    return changed_since(str(repo.path), repo.git("rev-parse", "HEAD"), since)


def test_an_edited_a_removed_a_staged_and_a_new_file_count_once_each(repo: Any) -> None:
    repo.commit("first", **{"a.py": "1", "b/b.py": "1", "c.py": "1", "d.py": "1", "e.py": "1"})
    assert changes(repo) is None
    repo.write("a.py", "2")
    (repo.path / "b/b.py").unlink()
    repo.write("c.py", "2")
    repo.git("add", "c.py")
    repo.write("c.py", "3")
    repo.write("new.py", "1")
    assert changes(repo) == "changed files: 3"
    repo.git("add", "new.py")
    (repo.path / "d.py").unlink()
    (repo.path / "d.py").symlink_to("e.py")
    assert changes(repo) == "changed files: 5"
    assert changes(repo, datetime.now(UTC) + timedelta(hours=1)) is None
    assert changed_since(str(repo.path), "0" * 40, LONG_AGO) == (
        f"HEAD is {repo.git('rev-parse', 'HEAD')[:12]}, changed files: 5"
    )


def test_what_git_does_not_compare_is_no_change(repo: Any) -> None:
    texts = {"assumed.py": "1", "sparse.py": "1", "touched.py": "1"}
    repo.commit("first", **texts)
    repo.git("update-index", "--assume-unchanged", "assumed.py")
    repo.git("update-index", "--skip-worktree", "sparse.py")
    repo.write("assumed.py", "2")
    (repo.path / "sparse.py").unlink()
    repo.write("touched.py", "1")
    assert repo.git("status", "--porcelain") == ""
    assert changes(repo) is None


def test_other_line_ends_are_no_change_and_what_else_git_converts_is_not_compared(
    repo: Any,
) -> None:
    repo.git("remote", "add", "origin", "https://github.com/org/app")
    attributes = "a.txt text eol=crlf\nb.txt working-tree-encoding=ISO-8859-1\nc.txt ident\n"
    texts = {"a.txt": b"a\r\n", "b.txt": "ü\n".encode("latin-1"), "c.txt": b"$Id: 1 $\n"}
    repo.commit("first", **{".gitattributes": attributes, **texts})
    for name, text in texts.items():
        repo.write(name, text)
    assert changes(repo) is None
    assert all(repo.documents("docs")[name].uri for name in texts)
    for name, text in texts.items():
        repo.write(name, text + text)
    assert changes(repo) == "changed files: 1"
    documents = repo.documents("docs")
    assert [name for name in texts if documents[name].uri is None] == ["a.txt"]


def test_a_file_behind_a_filter_keeps_its_link_and_counts_as_unchanged(
    repo: Any, tmp_path: Path
) -> None:
    repo.git("remote", "add", "origin", "https://github.com/org/app")
    repo.git("config", "filter.upper.clean", "tr a-z A-Z")
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/attributes").write_text("*.py filter=upper\n")
    repo.commit("first", **{"a.py": "one", "b.c": "one"})
    repo.write("a.py", "two")
    repo.write("b.c", "two")
    documents = repo.documents("code")
    assert documents["a.py"].uri is not None
    assert "uncommitted" not in json.loads(documents["a.py"].metadata)
    assert documents["b.c"].uri is None
    assert changes(repo) == "changed files: 1"


def test_patterns_that_many_clones_share_by_a_link_are_read(repo: Any, tmp_path: Path) -> None:
    head = repo.commit("first", **{"a.py": "1"})
    (tmp_path / "shared").write_text("*.log\n")
    for name in ("exclude", "attributes"):
        place = repo.path / ".git/info" / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(tmp_path / "shared")
    assert open_repository(repo.path).head == head
    working_tree.git(repo.path, "status")
