"""File locks that the kernel releases when their last holder ends, even if it is killed."""

import os
import time
from pathlib import Path

if os.name == "posix":
    import fcntl

POLL_S = 0.02


def hold(path: Path, *, shared: bool = False, timeout_s: float = 60.0) -> int:
    """Acquire the lock on path and return its descriptor; closing it releases the lock.

    The lock belongs to the open file: a child that inherits the descriptor holds it too.

    Raises:
        TimeoutError: another process held it for timeout_s seconds.
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
    """Return whether any running process holds the lock on path."""
    try:
        os.close(hold(path, timeout_s=0.0))
    except TimeoutError:
        return True
    return False
