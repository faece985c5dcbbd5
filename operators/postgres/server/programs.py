"""Runs Postgres's own programs, and extracts the reason when they fail."""

import subprocess
from pathlib import Path

from operators.errors import CrosscorpusError
from operators.foundation.os_user import Account, clean_environment

MARKS = ("FATAL:", "PANIC:", "error:", "ERROR:")
_MAKE_ROOM = ": make room on its disk, then run the same command again"


class ServerError(CrosscorpusError):
    """The embedded server cannot run here; the text says what to do."""


def run(
    installation: Path,
    program: str,
    *arguments: object,
    account: Account | None,
    keep_open: tuple[int, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a program of an installation as account, in a clean environment, to its end.

    The descriptors in keep_open stay open in it and in its children.

    Raises:
        ServerError: it cannot be started.
    """
    environment = clean_environment() | {"TZ": "UTC", "LC_ALL": "C"}
    try:
        return subprocess.run(
            [str(installation / "bin" / program), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env=environment,
            pass_fds=keep_open,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            check=False,
        )
    except OSError as error:
        raise ServerError(
            f"cannot run Postgres's {program} ({error.strerror}): set CROSSCORPUS_DSN"
        ) from error


def names_a_reason(output: str) -> bool:
    """Return whether a program's output contains the reason of a failure."""
    return any(mark in output for mark in MARKS)


def reason(output: str) -> str:
    """Return the last line with an error, without its time, and the advice for a full disk.

    The messages of a server that is starting are no errors.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = (
        line[line.index(mark) + len(mark) :].strip()
        for mark in MARKS
        for line in reversed(lines)
        if mark in line and "FATAL:  the database system is " not in line
    )
    message = next(errors, lines[-1] if lines else "it said nothing")
    return message + message.endswith("No space left on device") * _MAKE_ROOM
