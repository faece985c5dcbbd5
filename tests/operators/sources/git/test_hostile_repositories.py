from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from operators.sources.git import repository
from operators.sources.git.repository import GitError
from operators.sources.protocol import Document, ReadIssue

PERSON = b"A <a@b> 1 +0000"


def store(repo: Any, kind: str, data: bytes) -> str:
    command = ["git", "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    done = subprocess.run(command, cwd=repo.path, input=data, capture_output=True, check=True)
    return done.stdout.decode().strip()


def tree(repo: Any, *entries: tuple[str, str, str]) -> str:
    return store(
        repo,
        "tree",
        b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(sha) for mode, name, sha in entries),
    )


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


def links(repo: Any) -> None:
    for name, target in {"a.py": "b.py", "b.py": "a.py", "l": ".", "c.py": "/etc/passwd"}.items():
        (repo.path / name).symlink_to(target)
    repo.commit("links")


def folder_that_became_a_link(repo: Any) -> None:
    repo.commit("x", **{"d/passwd": "1", "e/a.py": "1"})
    for name in ("d", "e"):
        shutil.rmtree(repo.path / name)
    (repo.path / "d").symlink_to("/etc")
    repo.write("e", "a file now")


def files_that_became_others(repo: Any) -> None:
    repo.commit("x", **{"a.py": "1", "b.py": "1"})
    for name in ("a.py", "b.py"):
        (repo.path / name).unlink()
    (repo.path / "a.py").mkdir()
    os.mkfifo(repo.path / "b.py")


def deep_path(repo: Any) -> None:
    blob = store(repo, "blob", b"1")
    path = "a/" * 10_000 + "a.py"
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


def shallow(repo: Any) -> None:
    repo.commit("x", **{"a.py": "1"})
    repo.commit("y", **{"a.py": "2"})
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", "../shallow")
    repo.path = repo.path.with_name("shallow")


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
        modes_that_no_file_has: 0, links: 0, folder_that_became_a_link: 0,
        files_that_became_others: 0, deep_path: 0, submodule_of_another: 0,
        dates_out_of_any_calendar: 0, conflict: 1, sparse: 2, shallow: 1, large_file: 0,
        names_of_refs: 1,
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
        b"\nencoding UTF-16\n\n\0h\0i\n", b"\nencoding UTF-7\n\n+AAA-x\n", b"", b"\n", b"\n\n",
        b"\ngpgsig -----BEGIN\n x\0y\n\n\n\n  indented\n", b"\n\n\x1b[31mred\x07\r\n\xe2\x80\xae\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("who", [PERSON, b"", b" <>", b"A\0B <a@b> 1 +0000", b"A" * 100_000])
def test_no_commit_breaks_the_log(repo: Any, rest: bytes, who: bytes) -> None:
    honest = repo.commit("honest", **{"a.py": "1"})
    commit(repo, b"\nparent " + honest.encode() + rest, who=who)
    assert len(repo.documents("history")) >= 1
    assert set(repo.documents("code")) == {"a.py"}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("HEAD", b"ref: refs/heads/../../../../etc/passwd\n"), ("HEAD", b"ref: HEAD\n"),
        ("index", b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"x" * 100), ("config", b"[core\n"),
        ("config", b"[core]\nrepositoryformatversion = 0\nworktree = /etc\n"), ("config", b"[core]\nrepositoryformatversion = 0\nbare = true\n"),
        ("config", b"[core]\nrepositoryformatversion = 99\n"), ("shallow", b"junk\n"),
        ("config", b"[include]\npath = /dev/zero\n"),
    ],
)  # fmt: skip
def test_a_damaged_git_folder_is_one_line(repo: Any, file: str, content: bytes) -> None:
    repo.commit("x", **{"a.py": "1"})
    (repo.path / ".git" / file).write_bytes(content)
    with pytest.raises(GitError) as said:
        repo.scan()
    assert "\n" not in str(said.value)


def test_a_clone_without_trees_says_how_to_complete_it(repo: Any) -> None:
    repo.commit("x", **{"a.py": "1"})
    repo.commit("y", **{"a.py": "2"})
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("clone", "-q", "--filter=tree:0", f"file://{repo.path}", "../partial")
    repo.path = repo.path.with_name("partial")
    with pytest.raises(GitError, match=r"partial' fetch --refetch --filter=blob:none$|not allowed"):
        repo.scan()


def test_a_message_without_end_is_cut(repo: Any) -> None:
    commit(repo, b"\n\n" + b"word " * 6_000_000)
    started = time.monotonic()
    (got,) = repo.documents("history").values()
    assert len(got.text) <= repository.LONGEST + 1
    assert time.monotonic() - started < 10


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux bounds it")
def test_a_tree_that_holds_itself_a_billion_times_ends(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MOST_MEMORY", 1 << 28)
    inner = tree(repo, *(("100644", f"f{i}", store(repo, "blob", b"1")) for i in range(10)))
    for _ in range(9):
        inner = tree(repo, *(("40000", f"d{i}", inner) for i in range(10)))
    commit(repo, of=inner)
    with pytest.raises(GitError, match="Out of memory"):
        repo.scan()
