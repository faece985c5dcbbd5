"""Runs git on an untrusted repository: the only place that starts git there.

A repository brings its own configuration, which names commands. None of them runs: no hook, pager,
monitor, signature check, external diff, text conversion, credential helper or alias. Nothing is
fetched and nothing is written. No command here compares the working tree's contents, because git
hashes a file through the filters that the configuration names, and none enters a submodule, which
has a configuration of its own; :mod:`operators.sources.git.stored_content` compares instead. A
repository can't replace a commit by another or take commits from elsewhere. Files that the
configuration names may be pipes: a git without output is stopped after a timeout, and any git is
stopped when the caller leaves.
"""

import io
import os
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from operators.errors import CrosscorpusError
from operators.foundation import cancellation
from operators.sources.protocol import printable

_NO_PROGRAM = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
COMMANDS = {
    **dict.fromkeys(("log", "show"), (*_NO_PROGRAM, "--no-show-signature", "--no-mailmap")),
    "diff-tree": _NO_PROGRAM,
    "diff-index": ("--cached", "--ignore-submodules=all", "--no-ext-diff", "--no-textconv"),
    "blame": ("--no-textconv", "--ignore-revs-file="),
    **dict.fromkeys(
        ("cat-file", "check-attr", "config", "for-each-ref", "ls-files", "ls-tree"), ()
    ),
    **dict.fromkeys(("merge-base", "remote", "rev-list", "rev-parse", "worktree"), ()),
}
"""The commands that may run, each with the options that keep programs of the repository away.

``cat-file`` and ``ls-tree`` read objects, ``diff-index`` and ``ls-files`` the index; ``status``,
``diff`` and ``diff-files`` run filters."""

SILENCE = 300.0
"""Timeout in seconds; git sorts a history of a million commits before its first output."""

LONGEST = 1_000_000
"""Bytes of a commit's message; the rest of a longer one is left out, as a larger file is."""

MOST_MEMORY = 8 << 30
"""Memory in bytes of one git; a folder that contains itself many times makes an endless list."""

_KEPT_ENVIRONMENT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
    "-c", f"core.hooksPath={os.devnull}",
    "-c", "core.fsmonitor=false",
    "-c", "advice.graftFileDeprecated=false",  # none is read: see GIT_GRAFT_FILE
    "-c", f"diff.orderFile={os.devnull}",
    "-c", "log.mailmap=false",
    "-c", "mailmap.file=",
    "-c", "mailmap.blob=",
    "-c", "log.follow=false",
    "-c", "log.showSignature=false",
    "-c", "log.showRoot=true",
    "-c", "protocol.allow=never",
    "-c", "diff.submodule=short",
    "-c", "core.bigFileThreshold=1m",  # a larger file is binary: git compares no lines of it
    "-c", "core.quotePath=false",
)  # fmt: skip
_INCOMPLETE = (
    "{root} is a clone without the contents or folders of older commits; to fetch these: "
    "git -C '{root}' fetch --refetch --no-filter"
)
_REFUSALS = {
    "dubious ownership": "git does not read {root} because another user owns it; if you trust it: "
    "git config --global --add safe.directory '{root}'",
    "not a git repository": "{root} is not a git working tree; give the top folder of one",
    "lazy fetching disabled": _INCOMPLETE,
    "promisor remote": _INCOMPLETE,
    "fatal: transport ": _INCOMPLETE,  # an older git would fetch, and may not
}
_CHECKED_S = 0.1
"""Seconds between two looks at whether the caller still waits."""
_READ_SIZE = 1 << 16


class GitError(CrosscorpusError):
    """A git repository cannot be read; nothing was taken from it."""


def git_output(root: Path, *arguments: str, silence: float | None = None) -> str:
    """The output of git, without the last newline; see :func:`git_stream`.

    Raises:
        GitError: git is missing or refuses, or says nothing for ``silence`` seconds.
    """
    with git_stream(root, *arguments, silence=silence) as stream:
        return stream.read().decode("utf-8", "surrogateescape").removesuffix("\n")


@contextmanager
def git_stream(
    root: Path, command: str, *arguments: str,
    silence: float | None = None, asked: IO[bytes] | None = None,
) -> Iterator[IO[bytes]]:  # fmt: skip
    """Git's standard output as it comes; leaving early ends git.

    Args:
        root: the working tree.
        command: one of ``COMMANDS``.
        silence: seconds without output after which git is stopped; None: ``SILENCE``.
        asked: a file that git reads as its standard input.

    Raises:
        GitError: git is missing or refuses, at the end of the ``with`` block; from a read, where
            git says nothing for ``silence`` seconds.
        Cancelled: from a read, where the caller no longer waits.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", *_OPTIONS, command, *COMMANDS[command], *arguments],
                cwd=root,
                env=environment(),
                stdin=asked or subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        except FileNotFoundError as exc:
            raise GitError("git is not installed; install it to read a repository") from exc
        assert process.stdout is not None
        if sys.platform == "linux":  # where it leaves out the files that git maps
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        try:
            yield io.BufferedReader(_Heard(process.stdout.fileno(), root, silence or SILENCE))
        except BaseException:
            process.kill()
            raise
        finally:
            process.stdout.close()
            status = process.wait()
        if status != 0:
            errors.seek(0)
            raise GitError(_refusal(root, errors.read().decode("utf-8", "replace")))


class _Heard(io.RawIOBase):
    """A pipe's output; a read raises GitError after ``silence`` seconds without any."""

    def __init__(self, pipe: int, root: Path, silence: float) -> None:
        self.pipe, self.root, self.silence = pipe, root, silence

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        until = time.monotonic() + self.silence
        with selectors.DefaultSelector() as selector:
            selector.register(self.pipe, selectors.EVENT_READ)
            while not selector.select(min(_CHECKED_S, self.silence)):
                cancellation.check()
                if time.monotonic() > until:
                    raise GitError(
                        f"git said nothing for {self.silence:.0f} seconds while it read "
                        f"{self.root}; clone the repository, then give the clone"
                    )
        cancellation.check()
        return os.readv(self.pipe, [buffer])


def split(stream: IO[bytes]) -> Iterator[bytes]:
    """The parts of git's output between NULs (``-z``), each cut after ``LONGEST`` bytes."""
    rest = b""
    while block := stream.read(_READ_SIZE):
        first, *others = block.split(b"\0")
        rest += first[: LONGEST - len(rest)]
        if others:
            yield rest
            *whole, rest = others
            yield from whole
    if rest:
        yield rest


def environment() -> dict[str, str]:
    """The caller's environment without variables that point git elsewhere (a hook sets GIT_DIR)."""
    every = os.environ.items()
    return {k: v for k, v in every if not k.startswith("GIT_") or k in _KEPT_ENVIRONMENT} | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",  # git knows it from 2.44 on; no protocol at all holds before
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }


def _refusal(root: Path, message: str) -> str:
    for mark, why in _REFUSALS.items():
        if mark in message:
            return why.replace("{root}", str(root))
    lines = [line for line in message.splitlines() if line.strip()] or ["it gave no reason"]
    return f"git cannot read {root}: {printable(lines[0].removeprefix('fatal: '))}"
