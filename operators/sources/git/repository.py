"""The properties of a checked-out git repository, and which repositories are refused.

An untrusted repository could name a private one of its reader: a link, a file ``.git`` or borrowed
objects lead anywhere. So only those are followed that know the working tree.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from operators.foundation.sanitize import clean_text
from operators.sources.git.git_process import GitError, git_output
from operators.sources.protocol import printable

OPENING_S = 10.0
"""Timeout in seconds of git's first commands, which read the configuration alone."""

_PUBLIC_HOST = re.compile(
    r"(?:www\.|(?:alt)?ssh\.)?(github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)(?:[-_.].+)?"
)
"""Hosts of many teams, as an account's alias or for ssh through port 443."""

_PATTERNS = ("exclude", "attributes", "sparse-checkout")
_SCP_FORM = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:\[\]]+):(?!//)(?P<path>.+)")


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


def open_repository(path: Path | str, name: str | None = None) -> Repository:
    """The repository whose working tree has its top at ``path``; ``name`` replaces its own.

    Raises:
        GitError: it borrows objects; not a folder, not a working tree or not its top, without a
            commit, or owned by somebody whom git does not trust.
    """
    root = Path(os.path.realpath(os.path.expanduser(path)))
    if not root.is_dir():
        raise GitError(f"{path} is not a folder; give the top folder of a git working tree")
    _check_entries(root / ".git")
    if _asked(root, "rev-parse", "--is-inside-work-tree") != "true":
        raise GitError(f"{path} is a bare repository; give a folder that has it checked out")
    top = Path(os.path.realpath(_asked(root, "rev-parse", "--show-toplevel")))
    if top != root:
        raise GitError(f"{path} lies inside the git working tree {top}; give that folder instead")
    _check_git_folder(root)
    try:
        head = _asked(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except GitError as exc:
        raise GitError(f"{path} has no commits yet; commit something first") from exc
    origin = origin_url(root)
    remote, forge = parse_origin(origin)
    title = clean_text(name or remote or root.name)
    return Repository(root, head, title, forge, clone_addresses(root, origin))


def _asked(root: Path, *arguments: str) -> str:
    return git_output(root, *arguments, silence=OPENING_S)


def _check_git_folder(root: Path) -> None:
    """Refuse a working tree whose ``.git`` leads to a repository that does not know of it.

    A file ``.git``, a link of this name or a file ``commondir`` may name any folder, so that an
    unpacked archive would read a private repository of its reader. A repository outside is
    followed only if it has the folder as a worktree, or as the submodule that it belongs to.
    """
    own, common = (
        Path(os.path.realpath(root / _asked(root, "rev-parse", which)))
        for which in ("--git-dir", "--git-common-dir")
    )
    for folder in {own, common} - {root / ".git"}:
        _check_entries(folder)
    _check_complete(root, common / "objects")
    if common.is_relative_to(root):
        return
    listed = _asked(common, "worktree", "list", "--porcelain", "-z").split("\0")
    known = [line.removeprefix("worktree ") for line in listed if line.startswith("worktree ")]
    with suppress(GitError):
        known.append(str(common / _asked(common, "config", "--get", "core.worktree")))
    if root not in (Path(os.path.realpath(one)) for one in known):
        raise GitError(
            f"{root / '.git'} leads to {common}, which does not have this folder as a worktree; "
            "clone the repository, then give the clone"
        )


def _check_complete(root: Path, objects: Path) -> None:
    """Refuse ``objects`` that git would complete from elsewhere (``git clone --shared``)."""
    for file in (objects / "info" / "alternates", objects / "info" / "http-alternates"):
        if file.exists() and file.stat().st_size:
            raise GitError(
                f"{file} takes commits from another repository; if you trust both: "
                f"git -C '{root}' repack -a -d && rm '{file}'"
            )


def _check_entries(folder: Path) -> None:
    """Refuse a git folder with a link, which may lead anywhere, or a pipe, on which git would wait.

    ``HEAD`` may be a link to the branch's file, as old versions of git make it, and patterns may be
    links to a file that many clones share. Hooks never run, and a submodule's git folder is checked
    when that is read: anything may be in these.
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
                shared = path.parent == folder / "info" and path.name in _PATTERNS
                if path == folder / "HEAD" and target.is_relative_to(folder / "refs"):
                    continue
                if (
                    not shared
                    or not path.is_symlink()
                    or (target.exists() and not target.is_file())
                ):
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
    named = Path(root, _asked(root, "rev-parse", "--git-path", "shallow"))
    return frozenset(named.read_text("ascii", "replace").split() if named.exists() else ())


def parse_origin(url: str) -> tuple[str | None, str | None]:
    """A remote's ``owner/name`` and the start of its web addresses of files and commits.

    A host names its forge: GitHub's and GitLab's addresses are known, any other forge gets
    no links, and no alias of ssh's configuration does. User names and passwords in ``url`` are
    dropped.

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
    host = _web_host(clean_text(host))
    words = host.split(".") if "." in host else []
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
        return here, clean_text(f"{_web_host(host)}/{name}")
    path = origin.removeprefix("file://")
    if not path or "://" in path:
        return (here,)
    there = os.path.realpath(os.path.join(root, path)).removesuffix("/.git")
    return here, clean_text(there)


def _web_host(host: str) -> str:
    """The web's name of a forge's host, which ssh may know by another.

    >>> _web_host("github.com-work"), _web_host("ssh.github.com"), _web_host("git.example.org")
    ('github.com', 'github.com', 'git.example.org')
    """
    found = _PUBLIC_HOST.fullmatch(host.lower())
    return found[1] if found else host.lower()


def origin_url(root: Path) -> str:
    """The address of ``origin``; empty if there is none.

    One that tells no forge may be short for another, by ``insteadOf`` of git's configuration.
    """
    try:
        url = _asked(root, "config", "--get", "remote.origin.url")
        return url if parse_origin(url)[1] else _asked(root, "remote", "get-url", "origin")
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
