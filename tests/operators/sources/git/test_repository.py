"""What a repository says of itself, and which of its files are read."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import working_tree

from operators.sources.git import git_process, tracked_files
from operators.sources.git.git_process import GitError, git_output
from operators.sources.git.repository import open_repository, parse_origin
from operators.sources.git.tracked_files import MAX_FILE
from operators.sources.protocol import ReadIssue


def test_a_missing_object_is_not_fetched_by_the_command_that_the_repository_names(
    repo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older git ignores GIT_NO_LAZY_FETCH, and the repository's protocol.ssh.allow wins."""
    environment = git_process.environment
    monkeypatch.setattr(
        git_process,
        "environment",
        lambda: {k: v for k, v in environment().items() if k != "GIT_NO_LAZY_FETCH"},
    )
    trap, script = tmp_path / "trap", tmp_path / "ssh.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\nexit 1\n")
    script.chmod(0o755)
    repo.commit("first", **{"a.py": "1"})
    repo.commit("second", **{"a.py": "2"})
    gone = repo.git("rev-parse", "HEAD~1^{tree}")
    (repo.path / ".git" / "objects" / gone[:2] / gone[2:]).unlink()
    for key, value in (
        ("remote.origin.url", "ssh://host/repo"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
        ("core.sshCommand", str(script)),
        ("protocol.ssh.allow", "always"),
    ):
        repo.git("config", key, value)
    with pytest.raises(GitError, match="fetch --refetch --no-filter"):
        git_output(repo.path, "ls-tree", "HEAD~1")
    with pytest.raises(GitError):
        repo.scan()
    assert not trap.exists()


@pytest.mark.parametrize("how", ["file", "link", "commondir"])
def test_a_git_folder_elsewhere_is_followed_only_if_it_knows_the_working_tree(
    repo: Any, tmp_path: Path, how: str
) -> None:
    repo.commit("private", **{"a.py": "1"})
    private, trap = repo.path / ".git", tmp_path / "unpacked"
    trap.mkdir()
    if how == "file":
        (trap / ".git").write_text(f"gitdir: {private}\n")
    elif how == "link":
        (trap / ".git").symlink_to(private)
    else:
        (trap / ".git").mkdir()
        (trap / ".git" / "HEAD").write_bytes((private / "HEAD").read_bytes())
        (trap / ".git" / "commondir").write_text(f"{private}\n")
    with pytest.raises(GitError, match=r"does not have this folder as a worktree; clone"):
        open_repository(trap)


def test_a_worktree_and_a_submodule_are_read(repo: Any, tmp_path: Path) -> None:
    repo.commit("first", **{"a.py": "1"})
    worktree, outer = tmp_path / "worktree", working_tree.WorkingTree(tmp_path / "outer")
    repo.git("worktree", "add", "-q", str(worktree))
    outer.commit("first", **{"b.py": "2"})
    allowed = ("-c", "protocol.file.allow=always")
    outer.git(*allowed, "submodule", "--quiet", "add", str(repo.path), "inner")
    for root in (worktree, outer.path / "inner"):
        assert (root / ".git").is_file()
        assert open_repository(root).root == root


def test_a_git_folder_that_git_tidies_up_meanwhile_is_read(repo: Any) -> None:
    repo.commit("first", **{"a.py": "1"})
    objects, done = repo.path / ".git/objects", threading.Event()

    def tidy() -> None:
        while not done.is_set():
            for n in range(40):
                (objects / f"z{n}").mkdir(exist_ok=True)
                (objects / f"z{n}/part").write_bytes(b"")
            for n in range(40):
                shutil.rmtree(objects / f"z{n}")

    tidying = threading.Thread(target=tidy)
    tidying.start()
    try:
        for _ in range(25):
            open_repository(repo.path)
    finally:
        done.set()
        tidying.join()


@pytest.mark.parametrize("entry", ["refs", "objects/pack", "index"])
def test_a_git_folder_with_a_link_to_another_repository_is_refused(
    repo: Any, tmp_path: Path, entry: str
) -> None:
    repo.commit("private", **{"a.py": "1"})
    repo.git("gc", "-q")
    trap = working_tree.WorkingTree(tmp_path / "unpacked")
    trap.commit("mine", **{"b.py": "1"})
    place = trap.path / ".git" / entry
    shutil.rmtree(place, ignore_errors=True)
    place.unlink(missing_ok=True)
    place.symlink_to(repo.path / ".git" / entry)
    with pytest.raises(GitError, match=rf"\.git/{entry} is a link .*; clone the repository, then"):
        open_repository(trap.path)


@pytest.mark.parametrize("name", ["alternates", "http-alternates"])
def test_commits_of_another_repository_are_taken_only_after_they_are_copied(
    repo: Any, tmp_path: Path, name: str
) -> None:
    repo.commit("first", **{"a.py": "1"})
    working_tree.git(tmp_path, "clone", "-q", "--shared", "app", "shared")
    shared = tmp_path / "shared"
    info = shared / ".git" / "objects" / "info"
    (info / "alternates").rename(info / name)
    with pytest.raises(GitError, match=r"takes commits from another repository; .*&& rm") as said:
        open_repository(shared)
    if name == "alternates":
        subprocess.run(str(said.value).partition("both: ")[2], shell=True, check=True)
        assert open_repository(shared).head == repo.git("rev-parse", "HEAD")


def test_no_variable_of_the_environment_lends_objects(
    repo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repo.commit("first", **{"a.py": "1"})
    working_tree.git(tmp_path, "clone", "-q", "--shared", "app", "clone")
    (tmp_path / "clone/.git/objects/info/alternates").unlink()
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(repo.path / ".git/objects"))
    with pytest.raises(GitError, match=r"no commits yet|bad object"):
        open_repository(tmp_path / "clone")
    with pytest.raises(GitError):
        git_output(tmp_path / "clone", "cat-file", "-e", head)


def test_what_a_clone_may_have_in_its_git_folder_is_no_reason_to_refuse_it(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = repo.commit("first", **{"a.py": "1"})
    inside = repo.path / ".git"
    (inside / "HEAD").unlink()
    (inside / "HEAD").symlink_to("refs/heads/main")
    (inside / "hooks" / "pre-commit").symlink_to("../../a.py")
    monkeypatch.chdir(inside)
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.bind("fsmonitor--daemon.ipc")
    (inside / "objects" / "info" / "alternates").touch()
    assert open_repository(repo.path).head == sha


@pytest.mark.parametrize("entry", ["info/grafts", "config", "refs/heads/x"])
def test_a_pipe_in_the_git_folder_is_refused_before_git_waits_for_it(repo: Any, entry: str) -> None:
    repo.commit("first", **{"a.py": "1"})
    (repo.path / ".git" / entry).unlink(missing_ok=True)
    os.mkfifo(repo.path / ".git" / entry)
    with pytest.raises(GitError, match=rf"\.git/{entry} is a link or no file"):
        open_repository(repo.path)


@pytest.mark.parametrize("key", ["diff.orderFile", "mailmap.file"])
def test_git_waits_for_no_file_that_the_repository_names(
    repo: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(git_process, "SILENCE", 5.0)
    repo.commit("first", **{"a.py": "1"})
    plain = repo.scan()
    monkeypatch.setattr(tracked_files, "LONGEST_SEARCH_S", 0.3)  # it does wait for .gitattributes
    for name in ("pipe", ".mailmap", ".gitattributes", ".gitmodules", ".gitignore"):
        os.mkfifo(repo.path / name)
    repo.git("config", key, str(repo.path / "pipe"))
    assert repo.scan() == plain


def test_no_author_or_text_comes_from_another_object_than_the_commit(repo: Any) -> None:
    honest = repo.commit("honest", **{"a.py": "1", "map": "Eve <ann@example.org>\n"})
    forged = repo.git("commit-tree", "-m", "forged", "HEAD^{tree}")
    plain = repo.scan()
    repo.git("replace", honest, forged)
    repo.git("config", "mailmap.blob", "HEAD:map")
    (repo.path / ".git" / "info" / "grafts").write_text(f"{honest} {forged}\n")
    assert repo.scan() == plain


def test_a_git_that_says_nothing_is_ended_and_one_that_goes_on_is_not(
    repo: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(git_process, "SILENCE", 1.0)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nfor i in 1 2 3 4; do sleep 0.4; printf $i; done\n")
    git.chmod(0o755)
    assert git_output(repo.path, "log") == "1234"
    git.write_text("#!/bin/sh\nprintf 1; exec sleep 60\n")
    started = time.monotonic()
    with pytest.raises(
        GitError, match=r"git said nothing for 1 seconds while it read .*app; clone"
    ):
        git_output(repo.path, "show")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("url", "name", "forge"),
    [
        ("https://user:token@github.com/o/r", "o/r", "https://github.com/o/r"),
        ("ssh://git@github.com:22/o/r.git", "o/r", "https://github.com/o/r"),
        ("git@gitlab.com:g/s/r.git", "g/s/r", "https://gitlab.com/g/s/r/-"),
        ("https://notgithub.com/o/r.git", "o/r", None),
        ("../elsewhere", None, None),
        ("https://github.com/o/\udcff.git", "o/\udcff", "https://github.com/o/%FF"),
    ],
)
def test_origin_gives_name_and_forge(url: str, name: str | None, forge: str | None) -> None:
    assert parse_origin(url) == (name, forge)


def test_what_is_no_working_tree_is_one_clear_line(repo: Any, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="has no commits yet"):
        open_repository(repo.path)
    repo.commit("first", **{"sub/a.py": "1"})
    with pytest.raises(GitError, match=r"lies inside the git working tree .*app; give"):
        open_repository(repo.path / "sub")
    working_tree.git(tmp_path, "clone", "-q", "--bare", "app", "bare.git")
    with pytest.raises(GitError, match="is a bare repository"):
        open_repository(tmp_path / "bare.git")
    with pytest.raises(GitError, match="is not a folder"):
        open_repository(tmp_path / "none")
    (tmp_path / "plain").mkdir()
    with pytest.raises(GitError, match="is not a git working tree"):
        open_repository(tmp_path / "plain")


def test_somebody_elses_repository_says_how_to_trust_it(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    repo.commit("first", **{"a.py": "1"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    os.chown(repo.path, 12345, 12345)
    os.chown(repo.path / ".git", 12345, 12345)
    with pytest.raises(GitError, match=r"git config --global --add safe.directory '.*app'"):
        open_repository(repo.path)


EPOCH = 1_600_000_000


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def test_a_file_bears_the_date_of_its_last_commit_and_a_link_there(repo: Any) -> None:
    repo.git("remote", "add", "origin", "git@github.com:org/app.git")
    old = repo.commit("old", EPOCH, **{"a b#.py": "1", "c.py": "1"})
    repo.commit("new", EPOCH + 1000, **{"c.py": "2"})
    got = repo.documents("code")
    assert got["a b#.py"].created_at == moment(EPOCH + 60)
    assert got["a b#.py"].date_source == "git"
    assert got["a b#.py"].uri == f"https://github.com/org/app/blob/{old}/a%20b%23.py"
    assert got["c.py"].created_at == moment(EPOCH + 1060)
    assert got["c.py"].repo == "org/app"
    assert json.loads(got["a b#.py"].metadata) == {"commit": old, "short_commit": old[:7]}


def test_what_a_page_says_of_its_date_is_believed_before_the_commit(repo: Any) -> None:
    files = {
        "a.md": "---\ndate: 2019-03-04\ntitle: The Guide\n---\ntext\n",
        "b.adoc": "= B\nAnn\nv1.2, 2018-01-02\n\ntext\n",
        "2017-05-06-post.md": "# Post\n",
        "d.md": "---\ndate: 2999-01-01\n---\n# D\n",
    }
    repo.commit("one", **files)
    found = repo.documents("docs")
    assert {name: (d.doc_date, d.date_source) for name, d in found.items()} == {
        "a.md": (datetime(2019, 3, 4, tzinfo=UTC), "explicit"),
        "b.adoc": (datetime(2018, 1, 2, tzinfo=UTC), "explicit"),
        "2017-05-06-post.md": (moment(EPOCH + 60), "git"),
        "d.md": (moment(EPOCH + 60), "git"),
    }
    # A question as of a moment asks for what was there then: what the commit left.
    assert {d.created_at for d in found.values()} == {moment(EPOCH + 60)}
    assert found["a.md"].title == "The Guide"
    assert json.loads(found["a.md"].metadata)["date_trust"] == 1.0


def test_a_page_that_was_never_committed_bears_the_date_in_its_name(repo: Any) -> None:
    repo.commit("one", **{"a.py": "1"})
    repo.write("2017-05-06-post.md", "# Post\n")
    repo.git("add", ".")
    post = repo.documents("docs")["2017-05-06-post.md"]
    assert (post.doc_date, post.date_source) == (datetime(2017, 5, 6, tzinfo=UTC), "name")
    assert post.created_at is None


def test_an_uncommitted_change_is_read_but_not_linked(repo: Any) -> None:
    repo.git("remote", "add", "origin", "https://github.com/org/app")
    repo.commit("first", **{"a.py": "1"})
    repo.write("a.py", "2")
    got = repo.documents("code")["a.py"]
    assert (got.text, got.uri, got.created_at) == ("2", None, moment(EPOCH + 60))
    assert json.loads(got.metadata)["uncommitted"] is True


def test_what_is_left_out_says_why(repo: Any) -> None:
    repo.commit("first",
        **{
            "a.png": b"\x89PNG\0", "b.py": b"x\0y", "big.sql": b"-" * (MAX_FILE + 1),
            "yarn.lock": "x", "plain": "no shebang", "tool": "#!/bin/sh\n", "gone.py": "1",
        },
    )  # fmt: skip
    (repo.path / "gone.py").unlink()
    assert repo.issues() == {
        "a.png": "no known text type: .png",
        "b.py": "binary",
        "big.sql": f"larger than {MAX_FILE} bytes",
        "yarn.lock": "dependency lock or generated file",
        "plain": "no known text type",
        "gone.py": "not in the working tree",
    }
    assert not any(item.failed for item in repo.scan() if isinstance(item, ReadIssue))
    assert repo.documents("code")["tool"].language == "bash"


def test_symbolic_links_are_never_followed(repo: Any, tmp_path: Path) -> None:
    working_tree.write(tmp_path, "outside/secret.py", "SECRET")
    repo.commit("first", **{"d/secret.py": "tracked", "e.py": "tracked"})
    (repo.path / "link.py").symlink_to(tmp_path / "outside" / "secret.py")
    (repo.path / "loop").symlink_to(".")
    repo.commit("links")
    (repo.path / "d" / "secret.py").unlink()
    (repo.path / "d").rmdir()
    (repo.path / "d").symlink_to(tmp_path / "outside")
    (repo.path / "e.py").unlink()
    (repo.path / "e.py").symlink_to(tmp_path / "outside" / "secret.py")
    assert repo.documents("code") == {}
    assert repo.issues() == {
        "link.py": "symbolic link",
        "loop": "symbolic link",
        "d/secret.py": "symbolic link on the way",
        "e.py": "symbolic link",
    }


def test_a_file_that_cannot_be_read_is_a_failure_that_names_it(repo: Any) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every file")
    repo.commit("first", **{"a.py": "1", "b.py": "2"})
    (repo.path / "a.py").chmod(0)
    [issue] = [item for item in repo.scan() if isinstance(item, ReadIssue)]
    assert (issue.failed, issue.key) == (True, ("code", "app", "a.py"))


def test_odd_file_names_keep_distinct_ids(repo: Any) -> None:
    names = [b"caf\xe9.md", b"a\nb.md", "é.md".encode(), "e\u0301.md".encode(), b"-- .md", b":a.md"]
    for name in names:
        repo.write(name, "text")
    repo.commit("odd")
    found = repo.documents("docs")
    assert set(found) == {"caf%E9.md", "a\nb.md", "é.md", "e\u0301.md", "-- .md", ":a.md"}
    assert all(d.created_at == moment(EPOCH + 60) for d in found.values())


@pytest.mark.parametrize(
    ("url", "forge"),
    [
        ("git@github.com-work:acme/app.git", "https://github.com/acme/app"),
        ("ssh://git@ssh.github.com:443/acme/app.git", "https://github.com/acme/app"),
        ("github-work:acme/app.git", None),
        ("gh:acme/app", "https://github.com/acme/app"),
    ],
)
def test_a_link_leads_to_the_forge_and_not_to_an_alias_of_its_host(
    repo: Any, url: str, forge: str | None
) -> None:
    repo.commit("first", **{"a.py": "1"})
    for short, long in (
        ("gh:", "git@github.com:"),
        ("work:", "ssh://git@ssh.github.com:443/"),
        ("https://github.com/", "https://mirror.example.org/github/"),
    ):
        repo.git("config", f"url.{long}.insteadOf", short)
    repo.git("remote", "add", "origin", url)
    assert open_repository(repo.path).forge == forge
