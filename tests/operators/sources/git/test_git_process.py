"""No command of a repository runs, whatever of it is asked; git ends when nobody waits for it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import working_tree

from operators.foundation.cancellation import Cancelled, Switch, waiting
from operators.sources.git import git_process
from operators.sources.git.commit_range import change_between
from operators.sources.git.git_process import COMMANDS, GitError, git_output
from operators.sources.git.git_source import git_source
from operators.sources.git.range_facts import committed_at, line_commits, messages
from operators.sources.git.repository import open_repository
from operators.sources.git.snapshots import changes, lay_out
from operators.sources.git.unread_changes import changed_since

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
EVIL = ("evil", "a=b", "x.y")
"""Names of filters: of ``a=b``, ``-c filter.a=b.clean=`` would set another key."""

PLACES = (
    "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass",
    "core.gitProxy", "core.alternateRefsCommand", "pager.log", "pager.ls-files", "pager.config",
    "sequence.editor", "diff.external", "interactive.diffFilter", "credential.helper",
    "gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand",
    "merge.evil.driver", "mergetool.evil.cmd", "difftool.evil.cmd", "trailer.see.command",
    "trailer.see.cmd", "remote.origin.uploadpack", "remote.origin.vcs", "browser.evil.cmd",
    "uploadpack.packObjectsHook", "submodule.inner.update", "diff.evil.textconv",
    "diff.evil.command", *(f"filter.{name}.{what}" for name in EVIL
                           for what in ("clean", "smudge", "process")),
    *(f"alias.{command}" for command in COMMANDS),
)  # fmt: skip
"""Keys of the configuration whose value git runs as a command."""

SETTINGS = {
    "log.showSignature": "true", "log.diffMerges": "on", "diff.submodule": "diff",
    "submodule.recurse": "true", "status.submoduleSummary": "true", "diff.ignoreSubmodules": "none",
    "color.ui": "always", "core.untrackedCache": "true",
}  # fmt: skip


def lay_traps(folder: Path, script: Path, *, git_folder: Path) -> None:
    """Name ``script`` in each place that git knows, in the configuration and the hooks."""
    for key in PLACES:
        command = f"!{script}" if key.startswith(("alias.", "submodule.")) else str(script)
        working_tree.git(folder, "config", key, command)
    for key, value in SETTINGS.items():
        working_tree.git(folder, "config", key, value)
    for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"):
        (git_folder / "hooks").mkdir(exist_ok=True)
        (git_folder / "hooks" / hook).write_text(script.read_text())
        (git_folder / "hooks" / hook).chmod(0o755)


@pytest.fixture
def trapped(repo: Any, tmp_path: Path) -> tuple[Path, Path]:
    """A working tree with a submodule, both of which name a command wherever they can; its mark."""
    mark, script = tmp_path / "mark", tmp_path / "trap.sh"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\ncat\n')
    script.chmod(0o755)
    attributes = "".join(f"*.{n} filter={name} diff=evil\n" for n, name in enumerate(EVIL))
    inner = working_tree.WorkingTree(tmp_path / "inner")
    inner.commit("first", **{"f.0": "1\n", ".gitattributes": attributes})
    repo.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(inner.path), "inner")
    files = {f"f.{n}": "1\n" for n in range(len(EVIL))}
    repo.commit("first", **files, **{".gitattributes": attributes, "f.py": "1\n"})
    inner.commit("second", **{"f.0": "2\n"})
    working_tree.git(repo.path / "inner", "-c", "protocol.file.allow=always", "pull", "-q")
    repo.commit("second", **dict.fromkeys(files, "2\n"), **{"f.py": "2\n"})
    lay_traps(repo.path / "inner", script, git_folder=repo.path / ".git/modules/inner")
    lay_traps(repo.path, script, git_folder=repo.path / ".git")
    for name in files:  # the time and the content differ from the index: git would hash them
        (repo.path / name).write_text("3\n")
    (repo.path / "inner" / "f.0").write_text("3\n")
    return repo.path, mark


def test_nothing_that_a_repository_names_runs_whatever_is_asked_of_it(
    trapped: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root, mark), ran, popen = trapped, set[str](), subprocess.Popen

    def recorded(command: list[str], **options: Any) -> Any:
        ran.add(next(one for one in command if one in COMMANDS))
        return popen(command, **options)

    index = hashlib.sha256((root / ".git" / "index").read_bytes()).hexdigest()
    with monkeypatch.context() as patched:
        patched.setattr(git_process.subprocess, "Popen", recorded)
        repository = open_repository(root)
        head = repository.head
        items = list(git_source(root, diffs=True).scan())
        assert "f.py" in {getattr(item, "document_id", "") for item in items}
        assert change_between(root, "HEAD~1...").patch
        assert committed_at(root, head)
        assert messages(root, [head]) == ["second"]
        assert line_commits(root, head, [("f.0", 1, 1)]) == [head]
        assert len(changes(repository, f"{head}~1", head)) == 5
        assert changed_since(str(root), head, LONG_AGO) is None  # filters: it can't be known
        assert git_output(root, "for-each-ref", f"--contains={head}", "refs/tags") == ""
    assert lay_out(repository, head, tmp_path / "snapshot") == 6
    git_output(root, "rev-list", "--count", "HEAD")
    with pytest.raises(GitError):
        git_output(root, "remote", "get-url", "none")
    assert set(COMMANDS) - ran <= {"cat-file", "ls-tree", "merge-base", "remote", "worktree"}
    assert not mark.exists(), mark.read_text()
    assert hashlib.sha256((root / ".git" / "index").read_bytes()).hexdigest() == index


def test_the_traps_of_this_test_run_where_a_person_types_git_status(
    trapped: tuple[Path, Path],
) -> None:
    root, mark = trapped
    working_tree.git(root, "-c", "core.fsmonitor=false", "status")
    said = mark.read_text()
    assert said.count("trap.sh") >= 2


def test_a_pipe_that_the_configuration_includes_holds_nobody_up(
    repo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repo.commit("first", **{"a.py": "1"})
    os.mkfifo(repo.path / "pipe")
    repo.git("config", "include.path", str(repo.path / "pipe"))
    monkeypatch.setattr("operators.sources.git.repository.OPENING_S", 0.3)
    monkeypatch.setattr("operators.sources.git.unread_changes.LIMIT_S", 0.3)
    began = time.monotonic()
    with pytest.raises(GitError, match="git said nothing for 0 seconds"):
        open_repository(repo.path)
    assert changed_since(str(repo.path), head, LONG_AGO) is None
    assert time.monotonic() - began < 10


def test_git_ends_when_the_caller_leaves(
    repo: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    git, alive = tmp_path / "git", tmp_path / "alive"
    git.write_text(f"#!/bin/sh\necho $$ > {alive}\nexec sleep 60\n")
    git.chmod(0o755)
    switch = Switch()
    token = waiting.set(switch)
    threading.Timer(0.5, switch.throw).start()
    began = time.monotonic()
    try:
        with pytest.raises(Cancelled):
            changed_since(str(repo.path), "", LONG_AGO)
    finally:
        waiting.reset(token)
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(alive.read_text()), 0)
