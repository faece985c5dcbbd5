"""A process that parses hostile input, and may be killed at any time.

The parent sends one request at a time: a length (4 bytes, big-endian) and as many bytes; the child
replies in JSON. The child has limits of memory and of CPU for one request; the parent's timeout
applies where an operating system has no limit. Pebble was tried: it breaks in a script without a
main guard, and its child keeps the parent's secrets.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

_ROOT = Path(__file__).parents[2]

_FROM_OUTSIDE = frozenset(
    (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM)
)
"""Signals that come neither from a limit of the child nor from a crash."""


class Stopped(Exception):
    """The child ended before it replied; says why."""


class Passing(Stopped):
    """The request is not the cause: something killed the child, or it could not be started."""


@dataclass(eq=False)
class Sandbox:
    """A child process: started by the first request, restarted if it dies, ended by :meth:`close`.

    A lock serialises threads. A process that is forked from this one starts its own child.
    """

    function: str  # MODULE:NAME of the function that handles a request; only the child imports it
    _: KW_ONLY
    memory_bytes: int  # address space of the child
    cpu_s: int  # of CPU for one request
    wall_s: float  # timeout of one request
    requests_a_child: int  # then a new one replaces it, which frees the memory of leaks
    # Whether a new child retries a request on which a used one ended, for a parser that may crash
    # on the remains of earlier requests in memory.
    retry: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)
    _owner: int = field(default_factory=os.getpid, init=False, repr=False)
    _answered: int = field(default=0, init=False, repr=False)

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.communicate()

    def ask(self, request: bytes) -> Any:
        """The reply to a request; a new child retries it once if something killed the first.

        Raises:
            Stopped: the child ended before it replied, at a limit or by a crash.
            Passing: both children were killed from outside, or could not be started.
        """
        with self._lock:
            if self._owner != os.getpid():  # after a fork, the child belongs to the parent
                self._child, self._owner = None, os.getpid()
            if self._answered >= self.requests_a_child:
                self.close()
            used = self._child is not None
            try:
                return self._answer(request)
            except Passing:
                pass
            except Stopped:
                if not (self.retry and used):
                    raise
            return self._answer(request)

    def _answer(self, request: bytes) -> Any:
        if self._child is None:
            self._child, self._answered = self._start(), 0
        child, late = self._child, threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        clock = threading.Timer(self.wall_s, stop)
        clock.daemon = True
        clock.start()
        try:
            reply = _exchange(child, request)
            if reply is None:
                child.wait()  # a signal to a dying child would hide its exit status
        except BaseException:
            self.close()
            raise
        finally:
            clock.cancel()
        if reply is None:
            self.close()
            raise self._stopped(child.returncode, late.is_set())
        self._answered += 1
        return json.loads(reply)

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a child with an environment without passwords, because input is hostile."""
        from operators.foundation.os_user import clean_environment  # the child has no packages yet

        limits = (str(self.memory_bytes), str(self.cpu_s))
        command = [sys.executable, "-I", __file__, self.function, *limits, *filter(None, sys.path)]
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=clean_environment(),
            )
        except OSError as error:  # no memory, or too many processes or files
            why = f"its reader does not start ({error.strerror})"
            raise Passing(f"{why}: end other programs, and ingest again") from None

    def _stopped(self, status: int, late: bool) -> Stopped:
        if late:
            return Stopped(f"stopped: it took more than {self.wall_s:g} s")
        if status == -signal.SIGXCPU:
            return Stopped(f"stopped: it took more than {self.cpu_s} s of CPU")
        if -status in _FROM_OUTSIDE:
            what = f"its reader was killed (signal {-status})"
            return Passing(f"{what}: see whether the machine is short of memory, and ingest again")
        limit = f"the limit of {self.memory_bytes >> 20} MiB"
        return Stopped(f"stopped: its reader ended ({status}), most likely at {limit}")


def _exchange(child: subprocess.Popen[bytes], request: bytes) -> bytes | None:
    """The child's reply; None if it ended before it replied."""
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


def _serve(answer: Callable[[bytes], object], memory_bytes: int, cpu_s: int) -> None:
    """Run as the child: handle requests until standard input ends."""
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
    """Standard output, reserved for replies: no library can print to it."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return replies


def _limit_memory(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _limit_cpu(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + seconds + 1
    with contextlib.suppress(ValueError, OSError):  # the current limit is tighter
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    sys.path[:] = [str(_ROOT), *sys.path, *sys.argv[4:]]  # -I ignores PYTHONPATH and others
    _module, _, _name = sys.argv[1].partition(":")
    _function: Callable[[bytes], object] = getattr(importlib.import_module(_module), _name)
    _serve(_function, int(sys.argv[2]), int(sys.argv[3]))
