"""Runs git on an untrusted repository, and reads the repository's properties.

A repository brings its own configuration. None of its hooks, pagers, monitors, signature checks or
external diffs run, nothing is fetched and nothing is written; filters never run because files are
read from the working tree, not through git. It can't name a file to read, replace a commit by
another, or take commits from another repository. A git without output is stopped after a timeout.
"""

import io
import os
import re
import resource
import selectors
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote, urlsplit

from operators.errors import CrosscorpusError
from operators.foundation.sanitize import clean_text
from operators.sources.git.borrowed_objects import (
    ALTERNATES,
    keep_store,
    named_store,
    strange_stores,
)
from operators.sources.protocol import printable

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
    "-c", "log.showSignature=false",
    "-c", "log.showRoot=true",
    "-c", "protocol.allow=never",
)  # fmt: skip
_REFUSALS = {
    "dubious ownership": "git does not read {root} because another user owns it; if you trust it: "
    "git config --global --add safe.directory '{root}'",
    "not a git repository": "{root} is not a git working tree; give the top folder of one",
    "lazy fetching disabled": "{root} is a clone without the folders of its commits; to fetch "
    "these: git -C '{root}' fetch --refetch --filter=blob:none",
}
_READ_SIZE = 1 << 16
_SCP_FORM = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:\[\]]+):(?!//)(?P<path>.+)")


class GitError(CrosscorpusError):
    """A git repository cannot be read; nothing was taken from it."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A checked-out repository at one commit."""

    root: Path  # the top folder of the working tree, without symbolic links
    head: str  # the commit that is checked out
    name: str  # what goes into ``repo``: ``owner/name`` of ``origin``, else the folder's name
    forge: str | None  # start of a known forge's addresses of files and commits
    addresses: tuple[str, ...]  # the folder, and what ``origin`` names, which other clones share

    def file_link(self, commit: str, path: bytes) -> str | None:
        """Web address of the file as it was at ``commit``."""
        return None if self.forge is None else f"{self.forge}/blob/{commit}/{quote(path)}"

    def commit_link(self, commit: str) -> str | None:
        """Web address of ``commit``."""
        return None if self.forge is None else f"{self.forge}/commit/{commit}"


class TrackedFile(NamedTuple):
    """A path in git's index, its mode and the id of its content there."""

    path: bytes
    mode: str
    content: str


def open_repository(
    path: Path | str, name: str | None = None, objects_from: Path | str | None = None
) -> Repository:
    """The repository whose working tree has its top at ``path``; ``name`` replaces its own.

    ``objects_from``: the one repository that it may borrow objects from, which is kept for later
    calls; None: the one that was kept, empty: none any more.

    Raises:
        CrosscorpusError: ``objects_from`` is no repository.
        GitError: it borrows from elsewhere; not a folder, not a working tree or not its top,
            without a commit, or owned by somebody whom git does not trust.
    """
    root = Path(os.path.realpath(os.path.expanduser(path)))
    if not root.is_dir():
        raise GitError(f"{path} is not a folder; give the top folder of a git working tree")
    _check_entries(root / ".git")
    if git_output(root, "rev-parse", "--is-inside-work-tree") != "true":
        raise GitError(f"{path} is a bare repository; give a folder that has it checked out")
    top = Path(os.path.realpath(git_output(root, "rev-parse", "--show-toplevel")))
    if top != root:
        raise GitError(f"{path} lies inside the git working tree {top}; give that folder instead")
    store = named_store(root, objects_from)
    if objects_from is not None:
        keep_store(root, None)  # also where the folder is refused
    _check_git_folder(root, store)
    if objects_from is not None:
        keep_store(root, store)
    try:
        head = git_output(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError as exc:
        raise GitError(f"{path} has no commits yet; commit something first") from exc
    origin = origin_url(root)
    remote, forge = parse_origin(origin)
    title = clean_text(name or remote or root.name)
    return Repository(root, head, title, forge, clone_addresses(root, origin))


def _check_git_folder(root: Path, store: Path | None) -> None:
    """Refuse a working tree whose ``.git`` leads to a repository that does not know of it.

    A file ``.git``, a link of this name or a file ``commondir`` may name any folder, so that an
    unpacked archive would read a private repository of its reader. A repository outside is
    followed only if it has the folder as a worktree, or as the submodule that it belongs to.
    Objects are borrowed from ``store`` alone.
    """
    own, common = (
        Path(os.path.realpath(root / git_output(root, "rev-parse", which)))
        for which in ("--git-dir", "--git-common-dir")
    )
    for folder in {own, common} - {root / ".git"}:
        _check_entries(folder)
    _check_borrowed(root, common / "objects", store)
    if common.is_relative_to(root):
        return
    listed = git_output(common, "worktree", "list", "--porcelain", "-z").split("\0")
    known = [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]
    with suppress(GitError):
        known.append(str(common / git_output(common, "config", "--get", "core.worktree")))
    if root not in (Path(os.path.realpath(one)) for one in known):
        raise GitError(
            f"{root / '.git'} leads to {common}, which does not have this folder as a worktree; "
            "clone the repository, then give the clone"
        )


def _check_borrowed(root: Path, objects: Path, store: Path | None) -> None:
    """Refuse ``objects`` that git would complete from elsewhere than ``store``."""
    strange = strange_stores(objects, store)
    file = objects / ALTERNATES
    far = file.with_name("http-alternates")
    if far.exists() and far.stat().st_size:
        strange, file = ["the network"], far
    if strange:
        raise GitError(
            f"{file} takes commits from another repository; `crosscorpus ingest git --objects-from "
            f"PATH` names the one that it may borrow from, here {printable(strange[0])}; if you "
            f"trust both: git -C '{root}' repack -a -d && rm '{file}'"
        )
    if store and file.exists() and file.stat().st_size:
        _check_entries(store)


def _check_entries(folder: Path) -> None:
    """Refuse a git folder with a link, which may lead anywhere, or a pipe, on which git would wait.

    ``HEAD`` may be a link to the branch's file, as old versions of git make it. Hooks never run,
    and a submodule's git folder is checked when that is read: anything may be in these.
    """
    waiting = [] if folder.is_symlink() or not folder.is_dir() else [folder]
    while waiting:
        for path, mode in _entries(waiting.pop()):
            if path in (folder / "hooks", folder / "modules") or stat.S_ISSOCK(mode):
                continue
            if stat.S_ISDIR(mode):
                waiting.append(path)
            elif not stat.S_ISREG(mode):
                target = Path(os.path.realpath(path))
                if path != folder / "HEAD" or not target.is_relative_to(folder / "refs"):
                    raise GitError(
                        f"{printable(str(path))} is a link or no file, which no clone has; "
                        "clone the repository, then give the clone"
                    )


def _entries(folder: Path) -> Iterator[tuple[Path, int]]:
    """What is in a folder, with its mode; git may take a file or the folder away meanwhile."""
    with suppress(FileNotFoundError):
        for path in sorted(folder.iterdir()):
            with suppress(FileNotFoundError):
                yield path, path.lstat().st_mode


def cut_commits(root: Path) -> frozenset[str]:
    """The commits of a shallow clone whose parents it lacks: each seems to add every file."""
    named = Path(root, git_output(root, "rev-parse", "--git-path", "shallow"))
    return frozenset(named.read_text("ascii", "replace").split() if named.exists() else ())


def git_output(root: Path, *arguments: str) -> str:
    """The output of git, without the last newline.

    Raises:
        GitError: git is missing or refuses.
    """
    with git_stream(root, *arguments) as stream:
        return stream.read().decode("utf-8", "surrogateescape").removesuffix("\n")


@contextmanager
def git_stream(
    root: Path, *arguments: str, silence: float | None = None, asked: IO[bytes] | None = None
) -> Iterator[IO[bytes]]:
    """Git's standard output as it comes; leaving early ends git.

    ``asked``: a file that git reads as its standard input.

    Raises:
        GitError: git is missing or refuses, at the end of the ``with`` block; from a read, where
            git says nothing for ``silence`` seconds (None: ``SILENCE``).
    """
    command = ["git", *_OPTIONS, *arguments]
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
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
        with selectors.DefaultSelector() as selector:
            selector.register(self.pipe, selectors.EVENT_READ)
            if not selector.select(self.silence):
                raise GitError(
                    f"git said nothing for {self.silence:.0f} seconds while it read {self.root}; "
                    "clone the repository, then give the clone"
                )
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


def parse_origin(url: str) -> tuple[str | None, str | None]:
    """A remote's ``owner/name`` and the start of its web addresses of files and commits.

    A host names its forge: GitHub's and GitLab's addresses are known, any other forge gets
    no links. User names and passwords in ``url`` are dropped.

    >>> parse_origin("git@github.com:org/app.git")
    ('org/app', 'https://github.com/org/app')
    >>> parse_origin("https://token@gitlab.example.org/group/team/app")
    ('group/team/app', 'https://gitlab.example.org/group/team/app/-')
    >>> parse_origin("/srv/git/app.git")
    (None, None)
    """
    host, name = _host_and_name(url)
    if not name:
        return None, None
    host = clean_text(host.lower())
    words = host.split(".")
    address = f"https://{host}/{quote(os.fsencode(name))}"
    if "github" in words and name.count("/") == 1:
        return name, address
    return name, f"{address}/-" if "gitlab" in words and "/" in name else None


def clone_addresses(root: Path, origin: str) -> tuple[str, ...]:
    """The places of the working tree at ``root``: its folder, and the address of its ``origin``.

    >>> clone_addresses(Path("/src/app"), "git@github.com:org/app.git")
    ('/src/app', 'github.com/org/app')
    >>> clone_addresses(Path("/src/copy"), "/src/app/.git")
    ('/src/copy', '/src/app')
    """
    here = clean_text(str(root))
    host, name = _host_and_name(origin)
    if name:
        return here, clean_text(f"{host.lower()}/{name}")
    path = origin.removeprefix("file://")
    if not path or "://" in path:
        return (here,)
    there = os.path.realpath(os.path.join(root, path)).removesuffix("/.git")
    return here, clean_text(there)


def origin_url(root: Path) -> str:
    """The address of ``origin``; empty if there is none."""
    try:
        return git_output(root, "config", "--get", "remote.origin.url")
    except GitError:
        return ""


def _host_and_name(url: str) -> tuple[str, str]:
    """The host and the name in an address; both are empty for anything else."""
    if scp := _SCP_FORM.fullmatch(url):
        host, path = scp["host"], scp["path"]
    else:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return "", ""
        if parts.scheme not in ("https", "http", "ssh", "git") or not host:
            return "", ""
    return host, path.strip("/").removesuffix(".git")


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


def changed_since(folder: str, revision: str, read_at: datetime) -> str | None:
    """The changes of a working tree that a run over it did not read; None: none, or no tree.

    Files that git does not track don't count, nor do changes from before ``read_at``, the run's
    start: it read them. ``revision`` is the commit that it read.
    """
    if not os.path.isdir(folder):
        return None
    try:
        head = git_output(Path(folder), "rev-parse", "HEAD")
        dirty = git_output(
            Path(folder), "status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"
        )
    except GitError:
        return None
    named = (Path(folder, entry[3:]) for entry in dirty.split("\0") if entry)
    there = (next(one for one in (path, *path.parents) if one.exists()) for path in named)
    files = sum(path.stat().st_mtime > read_at.timestamp() for path in there)
    changes = [f"HEAD is {head[:12]}"] if head != revision else []
    return ", ".join([*changes, *([f"changed files: {files}"] if files else [])]) or None
