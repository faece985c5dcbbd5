"""File locks that the kernel drops when their last holder is gone, however it died."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

if os.name == "posix":
    import fcntl

POLL_S = 0.02


def hold(path: Path, *, shared: bool = False, timeout_s: float = 60.0) -> int:
    """Take the lock on path and return its descriptor; closing it lets go.

    The lock belongs to the open file: a child that inherits the descriptor holds it too.

    Raises:
        TimeoutError: somebody else held it for timeout_s seconds.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    wanted = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, wanted)
            return descriptor
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise TimeoutError(str(path)) from None
            time.sleep(POLL_S)


def is_held(path: Path) -> bool:
    """Say whether any living process holds the lock on path."""
    try:
        os.close(hold(path, timeout_s=0.0))
    except TimeoutError:
        return True
    return False


@contextlib.contextmanager
def locked(path: Path, timeout_s: float = 60.0) -> Iterator[int]:
    """Hold the lock on path alone for the length of a with block; gives its descriptor."""
    descriptor = hold(path, timeout_s=timeout_s)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
