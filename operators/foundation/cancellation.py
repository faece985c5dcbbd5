"""Cancels work whose caller no longer waits, with its running database statements.

The caller sets ``waiting`` and cancels by its switch; the work in that context, also on other
threads, reads the switch there.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from time import sleep
from typing import TypeVar

from operators.errors import CrosscorpusError

T = TypeVar("T")

AGAIN_S = 0.1
"""Seconds between two attempts to stop what has not ended."""


class Cancelled(CrosscorpusError):
    """The caller no longer waits."""


class Switch:
    """The switch by which a caller cancels its work, once."""

    def __init__(self) -> None:
        self.thrown = False
        self._stops: list[Callable[[], None]] = []
        self._lock = Lock()

    def throw(self) -> None:
        """Stop the running work and wait for its end; work that begins raises ``Cancelled``.

        A stop is repeated until the work has ended, because a database ignores one that arrives
        between two statements.
        """
        self.thrown = True
        while self._stop_each():
            sleep(AGAIN_S)

    def _stop_each(self) -> bool:
        """Whether there was any."""
        with self._lock:  # so that no statement ends meanwhile and another user gets its connection
            for stop in self._stops:
                with suppress(Exception):  # such as a lost connection: the others must stop too
                    stop()
            return bool(self._stops)

    def check(self) -> None:
        """Raise ``Cancelled`` if the work is cancelled."""
        if self.thrown:
            raise Cancelled("the question was given up: whoever asked waits no more")

    @contextmanager
    def stopping_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """While the block runs, cancelling calls ``stop`` from another thread."""
        with self._lock:
            self.check()
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._lock:
                self._stops.remove(stop)


waiting: ContextVar[Switch | None] = ContextVar("waiting", default=None)


def check() -> None:
    """Raise ``Cancelled`` if the caller no longer waits."""
    if switch := waiting.get():
        switch.check()


def checked(items: Iterable[T]) -> Iterator[T]:
    """``items``; raises ``Cancelled`` before one if the caller no longer waits."""
    for one in items:
        check()
        yield one
