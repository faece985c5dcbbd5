from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from operators.sources.git import git_process
from operators.sources.git.commit_range import change_between
from operators.sources.git.git_process import GitError
from operators.sources.git.git_source import git_source
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, ReadIssue

EPOCH = 1_600_000_000
PERSON = b"A <a@b> 1 +0000"


def test_prose_is_read_before_sources_and_after_commits(repo: Any) -> None:
    files = {"A.py": "1", "a.md": "a", "docs/z.md": "z", "z.py": "1"}
    repo.commit("first", **files)
    read = [(item.corpus, item.path) for item in repo.scan() if isinstance(item, Document)]
    assert read[0][0] == "history"
    assert [path for _, path in read[1:]] == ["a.md", "docs/z.md", "A.py", "z.py"]


@pytest.fixture
def clone(repo: Any) -> Path:
    """A clone of the last two of three commits."""
    repo.commit("one", **{"a.py": "1", "b.py": "1"})
    repo.commit("two", EPOCH + 10, **{"c.py": "1"})
    repo.commit("three", EPOCH + 20, **{"b.py": "2"})
    made: Path = repo.path.parent / "shallow"
    repo.git("clone", "-q", "--depth", "2", f"file://{repo.path}", str(made))
    return made


def test_a_shallow_clone_says_so_and_dates_no_file_by_its_oldest_commit(
    repo: Any, clone: Path
) -> None:
    items = list(git_source(clone).scan())
    dated = {d.path: d.created_at is not None for d in items if isinstance(d, Document) and d.path}
    assert dated == {"a.py": False, "b.py": True, "c.py": False}
    said = [item.reason for item in items if isinstance(item, ReadIssue) and not item.failed]
    assert len(said) == 1
    assert "git fetch --unshallow" in said[0]
    repo.git("-C", str(clone), "fetch", "-q", "--unshallow")
    items = list(git_source(clone).scan())
    assert all(item.created_at for item in items if isinstance(item, Document))


def test_the_oldest_commit_of_a_shallow_clone_claims_no_file_nor_diff_and_says_why(
    repo: Any, clone: Path
) -> None:
    repo.git("-C", str(clone), "worktree", "add", "-q", "../linked")
    for root in (clone, repo.path.parent / "linked"):
        read = git_source(root, diffs=True).scan()
        commits = {d.title: d for d in read if isinstance(d, Document) and d.corpus == "history"}
        assert commits["two"].text == "two\n"
        assert "files" not in json.loads(commits["two"].metadata)
        assert commits["two"].note is not None
        assert "shallow clone" in commits["two"].note
        assert "b.py" in commits["three"].text
        assert commits["three"].note is None
    repo.git("-C", str(clone), "fetch", "-q", "--unshallow")
    read = git_source(clone).scan()
    texts = {d.title: d.text for d in read if isinstance(d, Document) and d.corpus == "history"}
    assert texts["two"] == "two\n\nFiles:\nc.py\n"
    assert texts["one"] == "one\n\nFiles:\na.py\nb.py\n"


def test_the_folder_names_the_repo_without_a_remote_and_an_option_names_it_anyhow(
    repo: Any,
) -> None:
    repo.commit("first", **{"a.py": "1"})
    assert repo.documents("code")["a.py"].repo == "app"
    source = git_source(repo.path, "org/other")
    assert {d.repo for d in source.scan() if isinstance(d, Document)} == {"org/other"}
    assert source.scopes == tuple((c, "org/other") for c in ("code", "history", "docs"))


@pytest.mark.parametrize(
    ("exclude", "left", "count"),
    [
        (["tests/"], {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}, 2),
        (
            ["*_snap.py", "app.py"],
            {"README.md", "lib/tests.py", "tests/deep/b.py", "tests/test_app.py"},
            2,
        ),
        (
            ["vendor"],
            {"README.md", "app.py", "lib/a_snap.py", "lib/tests.py"}
            | {"tests/deep/b.py", "tests/test_app.py"},
            0,
        ),
    ],
)
def test_what_is_excluded_is_left_out_and_counted_and_its_commits_stay(
    repo: Any, exclude: list[str], left: set[str], count: int
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
    (issue,) = [item for item in items if isinstance(item, ReadIssue)]
    assert (issue.reason, issue.failed) == (f"leaves out {count} files", False)


def test_a_merge_and_a_commit_that_the_history_lacks_may_go_and_no_other(repo: Any) -> None:
    base = repo.commit("base", **{"a.py": "1"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", **{"b.py": "1"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "side")
    merge, left_out = repo.git("rev-parse", "HEAD").strip(), git_source(repo.path).left_out
    gone = [name for name in (merge, base, "gone") if left_out(("history", "app", name))]
    assert gone == [merge, "gone"]


def test_a_shallow_clone_does_not_know_which_commits_are_gone(repo: Any, clone: Path) -> None:
    oldest = repo.git("rev-list", "--max-parents=0", "HEAD").strip()
    assert not git_source(clone).left_out(("history", "app", oldest))
    repo.git("-C", str(clone), "fetch", "-q", "--unshallow")
    assert not git_source(clone).left_out(("history", "app", oldest))
    assert git_source(clone).left_out(("history", "app", "f" * 40))


def test_a_file_may_go_once_git_does_not_track_it_and_not_before(repo: Any) -> None:
    repo.commit("one", **{"a.py": "1", "b.py": "1", "c.md": "c"})

    def may_go() -> list[str]:
        left_out = git_source(repo.path).left_out
        return [name for name in ("a.py", "b.py", "c.md") if left_out(("code", "app", name))]

    (repo.path / "a.py").unlink()
    assert may_go() == []
    repo.git("rm", "-q", "a.py")
    assert may_go() == ["a.py"]
    repo.git("rm", "-q", "--cached", "b.py")
    assert may_go() == ["a.py", "b.py"]
    repo.git("rm", "-q", "c.md")
    assert may_go() == ["a.py", "b.py", "c.md"]
    (repo.path / ".git" / "index").unlink()
    assert may_go() == []


def test_what_is_no_pattern_is_refused(repo: Any) -> None:
    repo.commit("one", **{"a.py": "x = 1\n"})
    with pytest.raises(SourceError, match=r"--exclude .*'\[a': a bracket"):
        git_source(repo.path, exclude=["[a"])


def store(repo: Any, kind: str, data: bytes) -> str:
    command = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    done = subprocess.run(command, cwd=repo.path, input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def tree(repo: Any, *entries: tuple[str, str, str]) -> str:
    lines = (f"{mode} {name}\0".encode() + bytes.fromhex(sha) for mode, name, sha in entries)
    return store(repo, "tree", b"".join(lines))


def commit(repo: Any, rest: bytes = b"\n\nx\n", of: str = "", who: bytes = PERSON) -> None:
    head = b"tree %b\nauthor %b\ncommitter %b" % ((of or repo.git("write-tree")).encode(), who, who)
    repo.git("update-ref", "refs/heads/main", store(repo, "commit", head + rest))


def odd_names(repo: Any) -> None:
    for name in ("new\nline", "tab\t", 'quo"te', "-rf", "--output=x", ":(top)a", "[a]", "\u202ex"):
        repo.write(f"{name}.py", "1")
    repo.commit("odd")


def path_out_of_the_tree(repo: Any) -> None:
    repo.commit("x", **{"aaaaaaaa.py": "1"})
    repo.path.with_name("bbbb.py").write_text("secret")
    index = repo.path / ".git" / "index"
    data = index.read_bytes()[:-20]
    data = data.replace(b"\x0baaaaaaaa.py" + b"\0" * 7, b"\x0a../bbbb.py" + b"\0" * 8)
    index.write_bytes(data + hashlib.sha1(data).digest())


def names_that_no_tree_may_have(repo: Any) -> None:
    blob = store(repo, "blob", b"1")
    commit(repo, of=tree(repo, *(("100644", n, blob) for n in ("..", ".git", "/etc/passwd"))))


def modes_that_no_file_has(repo: Any) -> None:
    blob = store(repo, "blob", b"1")
    commit(repo, of=tree(repo, ("100777", "a.py", blob), ("100000", "b.py", blob)))


def files_that_became_others(repo: Any) -> None:
    repo.commit("x", **{"a.py": "1", "b.py": "1"})
    for name in ("a.py", "b.py"):
        (repo.path / name).unlink()
    (repo.path / "a.py").mkdir()
    os.mkfifo(repo.path / "b.py")


def deep_path(repo: Any) -> None:
    blob = store(repo, "blob", b"1")
    path = "a/" * 3_000 + "a.py"  # longer than a system takes
    repo.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    commit(repo)


def submodule_of_another(repo: Any) -> None:
    repo.commit("x", **{"secret.py": "secret"})
    shutil.copytree(repo.path, repo.path.with_name("private"))
    shutil.rmtree(repo.path / ".git")
    (repo.path / "secret.py").unlink()
    repo.git("init", "-q", "-b", "main")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    repo.git("config", "submodule.recurse", "true")
    repo.git("config", "submodule.sub.active", "true")
    repo.write(".gitmodules", '[submodule "sub"]\npath=sub\nurl=x\n')
    commit(repo)
    repo.write("sub/.git", "gitdir: ../../private/.git\n")


def dates_out_of_any_calendar(repo: Any) -> None:
    for when in (b"-62135596801", b"99999999999999999999999", b"x", b"", b"1e9"):
        commit(repo, who=b"A <a@b> " + when + b" +9999")


def conflict(repo: Any) -> None:
    for branch in ("side", "main"):
        repo.git("checkout", "-q", "--orphan", branch)
        repo.commit(branch, **{"a.py": branch})
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "--allow-unrelated-histories", "side")


def sparse(repo: Any) -> None:
    repo.commit("x", **{"a.py": "1", "d/b.py": "1", "e/f/c.py": "1"})
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "d")


def large_file(repo: Any) -> None:
    repo.commit("x", **{"a.md": "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})


def names_of_refs(repo: Any) -> None:
    repo.commit("x", **{"HEAD.py": "1"})
    repo.git("tag", "HEAD", store(repo, "blob", b"1"))
    repo.git("branch", "refs/heads/HEAD")
    repo.write("refs/heads/main", "1")


def cases() -> list[Any]:
    files = {
        odd_names: 8, path_out_of_the_tree: 0, names_that_no_tree_may_have: 0,
        modes_that_no_file_has: 0, files_that_became_others: 0, deep_path: 0,
        submodule_of_another: 0, dates_out_of_any_calendar: 0, conflict: 1, sparse: 2,
        large_file: 0, names_of_refs: 1,
    }  # fmt: skip
    return [pytest.param(make, count, id=make.__name__) for make, count in files.items()]


@pytest.mark.parametrize(("make", "files"), cases())
def test_a_hostile_tree_gives_its_own_files_and_no_failure(
    repo: Any, make: Callable[[Any], None], files: int
) -> None:
    make(repo)
    items = repo.scan()
    documents = [item for item in items if isinstance(item, Document)]
    assert sum(item.corpus != "history" for item in documents) == files
    assert not any("secret" in item.text for item in documents)
    assert not any(item.failed for item in items if isinstance(item, ReadIssue))


@pytest.mark.parametrize(
    "rest",
    [
        b"\n\nsub\0ject\0:100644 100644 0 1 M\0a.py\n", b"\nencoding UTF-77\n\n\xff\xfe\n",
        b"\nencoding UTF-7\n\n+AAA-x\n", b"", b"\ngpgsig -----BEGIN\n x\0y\n\n\n\n  indented\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("who", [PERSON, b"A\0B <a@b> 1 +0000"])
def test_no_commit_breaks_the_log(repo: Any, rest: bytes, who: bytes) -> None:
    honest = repo.commit("honest", **{"a.py": "1"})
    commit(repo, b"\nparent " + honest.encode() + rest, who=who)
    assert len(repo.documents("history")) >= 1
    assert set(repo.documents("code")) == {"a.py"}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("HEAD", b"ref: refs/heads/../../../../etc/passwd\n"),
        ("index", b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"x" * 100), ("config", b"[core\n"),
        ("config", b"[core]\nrepositoryFormatVersion = 0\nworktree = /etc\n"),
        ("shallow", b"junk\n"), ("config", b"[include]\npath = /dev/zero\n"),
    ],
)  # fmt: skip
def test_a_damaged_git_folder_is_one_line(repo: Any, file: str, content: bytes) -> None:
    repo.commit("x", **{"a.py": "1"})
    (repo.path / ".git" / file).write_bytes(content)
    with pytest.raises(GitError) as said:
        repo.scan()
    assert "\n" not in str(said.value)


def test_a_partial_clone_says_how_to_complete_it_and_is_complete_then(repo: Any) -> None:
    repo.commit("x", **{"a.py": "1"})
    repo.commit("y", **{"a.py": "2"})
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=tree:0", f"file://{repo.path}", "../partial")
    partial = repo.path.with_name("partial")

    def read() -> list[Any]:
        return list(git_source(partial, "app", diffs=True).scan())

    for refused in (read, lambda: change_between(partial, "HEAD^..HEAD")):
        with pytest.raises(GitError, match=r"partial' fetch --refetch --no-filter$") as said:
            refused()
    subprocess.run(str(said.value).partition("fetch these: ")[2], shell=True, check=True)
    assert read() == list(git_source(repo.path, "app", diffs=True).scan())
    assert change_between(partial, "HEAD^..HEAD").patch


def test_a_message_without_end_is_cut(repo: Any) -> None:
    commit(repo, b"\n\n" + b"word " * 6_000_000)
    started = time.monotonic()
    (got,) = repo.documents("history").values()
    assert len(got.text) <= git_process.LONGEST + 1
    assert time.monotonic() - started < 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux bounds it")
def test_a_tree_that_holds_itself_a_billion_times_ends(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_process, "MOST_MEMORY", 1 << 28)
    inner = tree(repo, *(("100644", f"f{i}", store(repo, "blob", b"1")) for i in range(10)))
    for _ in range(9):
        inner = tree(repo, *(("40000", f"d{i}", inner) for i in range(10)))
    commit(repo, of=inner)
    with pytest.raises(GitError, match="Out of memory"):
        repo.scan()
