"""Limits that keep one caller, or too many, from blocking the others.

A few questions run at once; others wait, and callers take turns. A question has a place only while
it is processed: not while its request arrives, nor while its answer is read. If too many wait, a
question of the caller with the most is refused. A question has a deadline, and is cancelled when
its caller disconnects.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

import anyio.to_thread
from starlette.types import Receive

from operators.embedding.onnx import cores
from operators.errors import CrosscorpusError
from operators.foundation.cancellation import Switch, waiting

RETRY_S = 2

T = TypeVar("T")


class Late(CrosscorpusError, TimeoutError):
    """A question timed out."""


class Busy(CrosscorpusError):
    """Too many questions wait, and this caller has the most of them."""


class Turns:
    """Runs ``running`` questions at a time; up to ``most`` more may wait.

    The default is two a processor: one computes while the other waits for the database. Addresses
    take turns, and within an address its callers.
    """

    def __init__(self, running: int | None = None, most: int = 64) -> None:
        self.free, self.most = running or 2 * cores(), most
        self._queues: dict[str, dict[str, deque[asyncio.Future[None]]]] = {}  # the next first

    @asynccontextmanager
    async def turn(self, address: str, caller: str) -> AsyncIterator[None]:
        """A running place, held to the end of the block.

        Raises:
            Busy: too many wait.
        """
        if self.free > 0:
            self.free -= 1
        else:
            await self._wait(address, caller)
        try:
            yield
        finally:
            self._next()

    async def _wait(self, address: str, caller: str) -> None:
        if sum(map(_waiting, self._queues.values())) >= self.most:
            self._make_room(address, caller)
        mine = asyncio.get_running_loop().create_future()
        queue = self._queues.setdefault(address, {}).setdefault(caller, deque())
        queue.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # it got the place at the same time
                self._next()
            raise

    def _make_room(self, address: str, caller: str) -> None:
        """Refuse the last question of the longest queue, or this one, which would make it so."""
        busy = Busy(f"{self.most} questions wait already: come back in {RETRY_S} seconds")
        counts = {one: _waiting(callers) for one, callers in self._queues.items()}
        counts[address] = counts.get(address, 0) + 1
        most = max(counts, key=lambda one: (counts[one], one == address))
        queues = {one: _open(queue) for one, queue in self._queues.get(most, {}).items()}
        if most == address:
            queues[caller] = queues.get(caller, 0) + 1
        longest = max(queues, key=lambda one: (queues[one], one == caller))
        if (most, longest) == (address, caller):
            raise busy
        last = next(one for one in reversed(self._queues[most][longest]) if not one.done())
        last.set_exception(busy)

    def _next(self) -> None:
        """Give a free place to the caller whose turn it is."""
        while self._queues:
            address, callers = next(iter(self._queues.items()))
            caller, queue = next(iter(callers.items()))
            while queue and queue[0].done():  # its caller has disconnected or was refused
                queue.popleft()
            mine = queue.popleft() if queue else None
            del self._queues[address], callers[caller]
            if queue:
                callers[caller] = queue
            if callers:
                self._queues[address] = callers
            if mine:
                mine.set_result(None)
                return
        self.free += 1


def _waiting(callers: dict[str, deque[asyncio.Future[None]]]) -> int:
    return sum(map(_open, callers.values()))


def _open(queue: deque[asyncio.Future[None]]) -> int:
    return sum(not one.done() for one in queue)


@dataclass(frozen=True)
class Asker:
    """The caller: an address, and the name that it states."""

    turns: Turns
    address: str
    caller: str
    principals: tuple[str, ...] | None = None
    """The user and his groups, which limit what he sees; None: the owner of the machine."""


asker: ContextVar[Asker | None] = ContextVar("asker", default=None)
"""The caller of the current request; None: a single agent, which needs no turns."""


async def answered(work: Callable[[], T], seconds: float) -> T:
    """The result of ``work``, run on a thread when it is the caller's turn.

    It is cancelled with this, or after ``seconds``, which include the wait for the turn.

    Raises:
        Late: the timeout has passed.
        Busy: too many wait.
    """
    with anyio.move_on_after(seconds):
        if (of := asker.get()) is None:
            return await _on_a_thread(work)
        async with of.turns.turn(of.address, of.caller):
            return await _on_a_thread(work)
    raise Late(f"no answer within {seconds:g} s: ask less at once, or later")


async def _on_a_thread(work: Callable[[], T]) -> T:
    switch, context = Switch(), copy_context()
    context.run(waiting.set, switch)
    try:
        return await anyio.to_thread.run_sync(context.run, work, abandon_on_cancel=True)
    finally:
        Thread(target=switch.throw).start()  # it may cancel a statement and wait for it


async def while_there(receive: Receive, answer: Callable[[], Awaitable[None]]) -> None:
    """Run ``answer``, which is cancelled if the caller of ``receive`` disconnects."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    task, left = asyncio.ensure_future(answer()), asyncio.create_task(gone())
    await asyncio.wait([task, left], return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    if task.done():
        await task
    else:
        task.cancel()
        await asyncio.wait([task])
