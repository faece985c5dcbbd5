"""Stops work that nobody waits for any more, also the statements that the database runs for it.

The one who waits sets ``waiting`` and throws the switch; what works in that context, also on other
threads, finds it there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from time import sleep

from operators.errors import CrosscorpusError

AGAIN_S = 0.1
"""Seconds between two stops of what has not ended."""


class Cancelled(CrosscorpusError):
    """Whoever asked does not wait any more."""


class Switch:
    """Thrown once, by whoever waited."""

    def __init__(self) -> None:
        self.thrown = False
        self._stops: list[Callable[[], None]] = []
        self._lock = Lock()

    def throw(self) -> None:
        """Stop what runs now, and wait until it has ended; what would begin raises ``Cancelled``.

        Each is stopped again until it has: a database forgets a stop that comes between two
        statements.
        """
        self.thrown = True
        while self._stop_each():
            sleep(AGAIN_S)

    def _stop_each(self) -> bool:
        """Whether there was any."""
        with self._lock:  # so that no statement ends meanwhile and another user gets its connection
            for stop in self._stops:
                with suppress(Exception):  # of a connection that is lost: the others must stop too
                    stop()
            return bool(self._stops)

    def check(self) -> None:
        """Raise ``Cancelled`` if it is thrown."""
        if self.thrown:
            raise Cancelled("the question was given up: whoever asked waits no more")

    @contextmanager
    def stopping_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """While the block runs, ``stop`` ends it, called from another thread."""
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
    """Raise ``Cancelled`` if nobody waits any more."""
    if switch := waiting.get():
        switch.check()
