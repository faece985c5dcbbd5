"""The path of the embedded server's Unix socket, which has at most about 100 bytes."""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from operators.foundation.os_user import Account, closed_parent, give

LONGEST_SOCKET = 100
NAME = ".s.PGSQL.65535.lock"
RECORD = "socket-directory"


def socket_directory(directory: Path) -> Path:
    """Return the socket's directory: run/ in directory, or the short one recorded there."""
    inside = directory / "run"
    if _fits(inside):
        return inside
    with contextlib.suppress(FileNotFoundError):
        return Path((directory / RECORD).read_text())
    return inside


def make_socket_directory(directory: Path, account: Account | None) -> Path:
    """Create the socket's directory, private to account, and return it.

    If its path is too long, a short one under the temporary directory is used instead. It has a
    random name, which is recorded in directory. It is replaced if it is missing or has another
    owner.
    """
    chosen = socket_directory(directory)
    if _fits(chosen) and chosen == directory / "run":
        give(chosen, account)
        return chosen
    if _is_private(chosen, account.uid if account else os.geteuid()) and _fits(chosen):
        return chosen
    parent = Path(tempfile.gettempdir())
    if not _fits(parent / "crosscorpus-12345678") or closed_parent(parent, account) is not None:
        parent = Path("/tmp")
    made = Path(tempfile.mkdtemp(prefix="crosscorpus-", dir=parent))
    give(made, account)
    (directory / RECORD).write_text(str(made))
    return made


def _fits(path: Path) -> bool:
    return len(os.fsencode(path / NAME)) <= LONGEST_SOCKET


def _is_private(path: Path, owner: int) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
    return private and status.st_uid == owner
