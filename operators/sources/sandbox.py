"""Both ends of the pipe to a process that parses what anyone may have written, and may be killed.

A request and a reply are a length (4 bytes, big-endian) and as many bytes. The child has bounds of
memory and of CPU for one request; the parent's clock bounds it where an operating system does not.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP")


def start(script: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the child that ``script`` is, with an environment of its own.

    Nothing that a hostile file takes over should find a password there.
    """
    return subprocess.Popen(
        [sys.executable, "-I", str(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ},
    )


def exchange(child: subprocess.Popen[bytes], request: bytes) -> bytes | None:
    """The child's reply; None if it ended before it gave one."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(struct.pack(">I", len(request)))
        child.stdin.write(request)
        child.stdin.flush()
    except OSError:
        return None
    header = child.stdout.read(4)
    if len(header) < 4:
        return None
    (size,) = struct.unpack(">I", header)
    reply = child.stdout.read(size)
    return reply if len(reply) == size else None


def serve(answer: Callable[[bytes], object], *, memory_bytes: int, cpu_s: int) -> None:
    """Be the child: answer requests, as JSON, until standard input ends.

    Args:
        answer: of one request.
        memory_bytes: address space of this process.
        cpu_s: seconds of CPU for one request; the process is ended when they are used up.
    """
    requests, replies = sys.stdin.buffer, _own_output()
    _limit_memory(memory_bytes)
    while header := requests.read(4):
        (size,) = struct.unpack(">I", header)
        data = requests.read(size)
        if len(data) < size:
            return
        _limit_cpu(cpu_s)
        reply = json.dumps(answer(data)).encode()
        replies.write(struct.pack(">I", len(reply)) + reply)
        replies.flush()


def _own_output() -> BinaryIO:
    """Standard output for the replies alone: what a library prints goes nowhere."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return replies


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # Windows: the limit of time is all there is
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # macOS knows no such limit
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _limit_cpu(seconds: int) -> None:
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds + 1
    with contextlib.suppress(ValueError, OSError):  # the bound that is in force is tighter
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
