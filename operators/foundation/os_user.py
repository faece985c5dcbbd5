"""The privileges of our processes: the server's account is not root, a child gets no secrets.

Nor does an untrusted folder determine what a child imports. `python -m NAME` searches the working
folder first: in a checkout, a commit that adds `NAME/__main__.py`, or a module that it imports,
would run as this process's user.
"""

import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from operators.errors import CrosscorpusError

PREFERRED = ("postgres", "nobody")

_INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP")


@dataclass(frozen=True)
class Account:
    """An existing unprivileged account to which root drops its privileges."""

    name: str
    uid: int
    gid: int


def server_account() -> Account | None:
    """The account to switch to, or None if this process is not root.

    Raises:
        CrosscorpusError: this is root, and the machine has no unprivileged account.
    """
    if os.name == "nt" or os.geteuid() != 0:
        return None
    import pwd

    for name in PREFERRED:
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return Account(name, entry.pw_uid, entry.pw_gid)
    raise CrosscorpusError(
        "Postgres refuses to run as root and this machine has neither a user 'postgres' nor "
        "'nobody': run as an ordinary user, or set CROSSCORPUS_DSN to a server"
    )


def closed_parent(path: Path, account: Account | None) -> Path | None:
    """The outermost existing directory on the way to ``path`` that ``account`` may not enter.

    None when the way is open. Directories that do not exist yet do not count.
    """
    if account is None:
        return None
    resolved = path.resolve()
    for directory in [*reversed(resolved.parents), resolved]:
        try:
            status = directory.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(status.st_mode):
            return None
        others = stat.S_IXGRP if status.st_gid == account.gid else stat.S_IXOTH
        entering = stat.S_IXUSR if status.st_uid == account.uid else others
        if not status.st_mode & entering:
            return directory
    return None


def clean_environment() -> dict[str, str]:
    """The environment of a child process: no token, no password, no setting."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def make_directory(path: Path, account: Account | None) -> None:
    """Make ``path`` and its missing parents; the account may enter the new ones, not list them.

    Existing directories keep their mode.
    """
    missing = [p for p in [path, *path.parents] if not p.exists()]
    for directory in reversed(missing):
        directory.mkdir(exist_ok=True)
        directory.chmod(0o711 if account else 0o700)


def give(path: Path, account: Account | None) -> None:
    """Make the directory ``path`` (if missing) with mode 700, owned by the server's account.

    Raises:
        OSError: something else is there, such as a link, which could lead to anybody's directory.
    """
    path.mkdir(exist_ok=True)
    directory = os.open(path, os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(directory, 0o700)
        if account is not None:
            os.fchown(directory, account.uid, account.gid)
    finally:
        os.close(directory)


def child_python(*arguments: str) -> list[str]:
    """The command of a Python whose import path has no working folder and no script's folder."""
    return [sys.executable, "-P", *arguments]


def child_environment() -> dict[str, str]:
    """This process's environment; a folder in ``PYTHONPATH`` that is relative is the one it was.

    An empty entry there means the working folder, so it is left out.
    """
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [os.path.abspath(folder) for folder in folders if folder]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(kept)}
