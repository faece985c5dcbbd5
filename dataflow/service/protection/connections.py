"""Limits on connections: a number per address, and none may idle.

uvicorn closes a connection that is idle after a response. A connection whose request never arrives,
or whose response nobody reads, would stay open without limit.
"""

import asyncio
import itertools
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 256
"""Maximum connections of one address."""
STILL_S = 20.0
"""Timeout in seconds for a request's head, and for reading ``PART`` of a response."""
PART = 65_536
"""Bytes."""

_numbers = itertools.count()


class Connection(H11Protocol):
    """One connection. If its address has too many, the oldest one without a request is closed."""

    most, still_s = MOST, STILL_S

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.number = next(_numbers)
        self.no_head: asyncio.TimerHandle | None = None
        self.unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request."""
        super().connection_made(transport)
        self.no_head = self._abort_later()
        if self.client is None:
            if self.server is not None and self.server[1] is not None:  # its caller has gone
                transport.abort()
            return  # else the owner's socket
        same = [
            one
            for one in self.connections
            if isinstance(one, Connection)
            and one.client is not None
            and one.client[0] == self.client[0]
            and not one.transport.is_closing()
        ]
        if len(same) > self.most:
            without = [one for one in same if not one.answering]
            min(without, key=lambda one: one.number, default=self).transport.abort()

    @property
    def answering(self) -> bool:
        """Whether a whole request has arrived that has no whole answer yet."""
        cycle = self.cycle
        return cycle is not None and not (cycle.more_body or cycle.response_complete)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes; a complete request head ends the wait for one."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            _cancel(self.no_head)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        _cancel(self.no_head)
        if self.cycle.response_complete:  # else the next request is here already
            self.no_head = self._abort_later()

    def pause_writing(self) -> None:
        """Wait for the caller to read."""
        super().pause_writing()
        self.unread = self._abort_later()

    def resume_writing(self) -> None:
        """Continue: the caller has read."""
        super().resume_writing()
        _cancel(self.unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers."""
        super().connection_lost(exc)
        _cancel(self.no_head)
        _cancel(self.unread)

    def _abort_later(self) -> asyncio.TimerHandle:
        """Close this, but not while its caller reads the rest of a response."""
        return self.loop.call_later(self.still_s, self._look, self._left())

    def _look(self, before: int) -> None:
        if before - PART < (left := self._left()) or not left:
            self.transport.abort()
        else:
            self.unread = self._abort_later()

    def _left(self) -> int:
        return self.transport.get_write_buffer_size()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
