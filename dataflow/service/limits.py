"""What keeps one caller, or too many, from taking the server from the others.

A few questions run at once; others wait, and callers take turns. Where too many wait, the answer is
429 and a time to come back. A question has a deadline, and stops when its caller goes.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

import anyio.to_thread
from opentelemetry import propagate, trace
from opentelemetry.context import attach, detach, get_current
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from operators.embedding.onnx import cores
from operators.errors import CrosscorpusError
from operators.foundation.cancellation import Switch, waiting

LONGEST_BODY = 1_000_000
RETRY_S = 2

T = TypeVar("T")


class Late(CrosscorpusError, TimeoutError):
    """A question had no answer when its time was over."""


class Gate:
    """Lets ``running`` POST requests at a time through to ``app``; ``most`` more may wait.

    By default two a processor run: one computes while the other waits for the database.

    A caller is the header ``x-caller``, else its address and program. A body is at most
    ``LONGEST_BODY`` bytes, and says its length. The header ``traceparent`` names its trace.
    """

    def __init__(self, app: ASGIApp, running: int | None = None, most: int = 64) -> None:
        self.app, self.free, self.most = app, running or 2 * cores(), most
        self._queues: dict[str, deque[asyncio.Event]] = {}  # the next caller first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        headers = Request(scope).headers
        length = headers.get("content-length", "")
        if not (length.isdecimal() and len(length) < 9 and int(length) <= LONGEST_BODY):
            said = f"a body has a length, of {LONGEST_BODY:,} bytes at most"
            await JSONResponse({"detail": said}, 413)(scope, receive, send)
        elif self.free <= 0 and sum(map(len, self._queues.values())) >= self.most:
            said = f"{self.most} questions wait already: come back in {RETRY_S} seconds"
            late = JSONResponse({"detail": said}, 429, {"retry-after": str(RETRY_S)})
            await late(scope, receive, send)
        else:
            host = (scope.get("client") or ("",))[0]
            await self._turn(headers.get("x-caller") or f"{host} {headers.get('user-agent')}")
            traced = trace.get_current_span() is not trace.INVALID_SPAN  # by a program around this
            token = attach(get_current() if traced else propagate.extract(headers))
            try:
                await self.app(scope, receive, send)
            finally:
                detach(token)
                self._next()

    async def _turn(self, caller: str) -> None:
        if self.free > 0:
            self.free -= 1
            return
        mine = asyncio.Event()
        queue = self._queues.setdefault(caller, deque())
        queue.append(mine)
        try:
            await mine.wait()
        except asyncio.CancelledError:
            if mine.is_set():
                self._next()
            else:
                queue.remove(mine)
            raise

    def _next(self) -> None:
        """Give the place that became free to the caller whose turn it is."""
        while self._queues:
            caller, queue = next(iter(self._queues.items()))
            del self._queues[caller]
            if not queue:
                continue
            queue.popleft().set()
            if queue:
                self._queues[caller] = queue
            return
        self.free += 1


async def answered(work: Callable[[], T], seconds: float) -> T:
    """What ``work`` returns on a thread; it stops where this is cancelled or ``seconds`` pass.

    Raises:
        Late: they passed.
    """
    switch, context = Switch(), copy_context()
    context.run(waiting.set, switch)
    try:
        with anyio.move_on_after(seconds):
            return await anyio.to_thread.run_sync(context.run, work, abandon_on_cancel=True)
        raise Late(f"no answer within {seconds:g} s: ask less at once, or later")
    finally:
        Thread(target=switch.throw).start()  # it may ask the database to stop, and wait for that


async def while_there(request: Request, answer: Awaitable[T]) -> T | None:
    """``answer``, given up when the caller of ``request`` has gone; then None."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    told, left = asyncio.ensure_future(answer), asyncio.create_task(gone())
    await asyncio.wait([told, left], return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    if told.done():
        return await told
    told.cancel()
    await asyncio.wait([told])
    return None
