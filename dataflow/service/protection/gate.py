"""The first layer of every request: the caller is checked, and the whole request is read.

A browser sends requests for any page. A foreign page reaches a server on this machine by its own
name, which it lets resolve to this machine (DNS rebinding), or by an address of this machine. The
header Host shows the first, Origin the second.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial

import anyio
import anyio.to_thread
from opentelemetry import propagate, trace
from opentelemetry.context import attach, detach, get_current
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dataflow.service.protection.group_claims import UnreadGroups
from dataflow.service.protection.limits import Asker, Turns, asker, while_there
from dataflow.service.protection.sessions import COOKIE, Sessions
from dataflow.service.protection.tokens import Callers

LONGEST_BODY = 1_000_000
BODY_S = 20.0
"""Timeout in seconds for the body of a request."""
MOST_DISCARDED, DISCARD_S = 20_000_000, 2.0
LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names of this machine: a page with such a name and another port is of another server."""

OPEN = frozenset(
    {"/healthz", "/readyz", "/", "/static/page.css", "/static/page.js"}
    | {"/session/begin", "/session/callback"}
)
"""Paths that need no token: the health of the server, the page, which holds no data, and the way
to sign in."""
SESSION = "/session"
"""The path that tells who asks: with a token, with a session, or nobody yet."""
WELL_KNOWN = "/.well-known/oauth-protected-resource"
METRICS = "metrics"
"""The principal that may read the server's metrics, which cover all callers."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


class Gate:
    """Passes requests to ``app`` that name this server as host, from a page of its own or none.

    A caller is the header ``x-caller``, else its program; callers of one address share its turns. A
    body has at most ``LONGEST_BODY`` bytes, states its length, and arrives within ``seconds``. The
    header ``traceparent`` identifies its trace.

    Args:
        hosts: names of only this server; a page with such a name is its own.
        here: names of this machine.
        turns: those that :func:`dataflow.service.protection.limits.answered` takes.
        tokens: identify callers; None: a caller is anonymous, and sees what everyone may.
        sessions: of people who have signed in on the page.
        seconds: timeout for a body.
    """

    def __init__(
        self, app: ASGIApp, hosts: Collection[str] = (), turns: Turns | None = None,
        seconds: float = BODY_S, here: Collection[str] = LOCAL, tokens: Callers | None = None,
        sessions: Sessions | None = None,
    ) -> None:  # fmt: skip
        self.tokens, self.sessions = tokens, sessions or Sessions()
        self.app, self.turns, self.seconds = app, turns or Turns(), seconds
        self.hosts, self.here = frozenset(hosts), frozenset(here)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, safely = Headers(scope=scope), _headed(send)
        if refused := foreign(headers, self.hosts, self.here) or unmeasured(
            scope["method"], headers
        ):
            await _discard(headers, receive)
            await refused(scope, receive, safely)
            return
        try:
            principals = await self._principals(scope, headers)
        except UnreadGroups as error:
            await _discard(headers, receive)
            await JSONResponse({"detail": str(error)}, 403)(scope, receive, safely)
            return
        if principals is None and not is_owner(scope):
            await _discard(headers, receive)
            await _unknown(scope, headers)(scope, receive, safely)
            return
        path = scope.get("path", "")
        if path == "/metrics" and self.tokens and METRICS not in (principals or ()):
            detail = f"numbers of the server are for a token of {METRICS!r}"
            await JSONResponse({"detail": detail}, 403)(scope, receive, safely)
            return
        answer: Callable[[], Awaitable[None]] = partial(self.app, scope, receive, safely)
        if scope["method"] == "POST":
            with anyio.move_on_after(self.seconds) as time:
                whole = await _read(receive)
            if time.cancelled_caught:
                detail = f"the body did not arrive within {self.seconds:g} s"
                await JSONResponse({"detail": detail}, 408, {"connection": "close"})(
                    scope, receive, safely
                )
                return
            if whole is None:  # its caller has disconnected: stop
                return
            answer = partial(while_there, receive, partial(self.app, scope, whole, safely))
        address = (scope.get("client") or ("",))[0]
        caller = headers.get("x-caller") or headers.get("user-agent", "")
        if principals:
            caller = principals[0]
        with _traced(headers), _with_asker(Asker(self.turns, address, caller, principals)):
            await answer()

    async def _principals(self, scope: Scope, headers: Headers) -> tuple[str, ...] | None:
        """The caller; None: unknown to the tokens, or the owner by his own socket."""
        if is_owner(scope):
            return None
        path = scope.get("path", "")
        if self.tokens is None or path in OPEN or path.startswith(f"{WELL_KNOWN}/"):
            return ()
        if len(headers.getlist("authorization")) > 1:  # which one counts is nobody's guess
            return None
        kind, _, token = headers.get("authorization", "").partition(" ")
        bearer = token.strip() if kind.lower() == "bearer" else ""
        if not kind:
            held = self.sessions.holder(cookie_parser(headers.get("cookie", "")).get(COOKIE))
            if isinstance(held, tuple):
                return held
            bearer = held
        # on a thread, because it reads a file, or fetches a provider's keys
        known = await anyio.to_thread.run_sync(self.tokens.caller, bearer) if bearer else None
        if known is None and not kind and _shows_page(scope, headers):
            return ()
        return known


def _shows_page(scope: Scope, headers: Headers) -> bool:
    """Whether a request without a token only gets the page, where one signs in."""
    path = scope.get("path", "")
    is_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
    return path == SESSION or (is_page and path.startswith("/p/"))


def is_owner(scope: Scope) -> bool:
    """Whether a request came by the socket of the server's owner, which has no port.

    A caller that disconnected at once has no address either, and is not the owner.
    """
    return not scope.get("client") and (scope.get("server") or ("", None))[1] is None


def _unknown(scope: Scope, headers: Headers) -> JSONResponse:
    """401, with the address where a client learns which kind of token it needs."""
    where = f"{scope.get('scheme', 'http')}://{headers.get('host')}{WELL_KNOWN}/mcp"
    challenge = f'Bearer resource_metadata="{where}"'
    if headers.get("authorization"):
        challenge += ', error="invalid_token"'
    detail = "a token is needed, as `authorization: Bearer TOKEN`"
    return JSONResponse({"detail": detail}, 401, {"www-authenticate": challenge})


def foreign(headers: Headers, hosts: frozenset[str], here: frozenset[str]) -> JSONResponse | None:
    """Why a request names another host or comes from a foreign page; None: neither.

    ``hosts`` and ``here`` are those of :class:`Gate`.
    """
    named = headers.getlist("host")
    if len(named) != 1 or host_name(named[0]) not in hosts | here:
        detail = "this server has no such name: serve --allow-host NAME gives it one"
        return JSONResponse({"detail": detail}, 400)
    for origin in headers.getlist("origin"):
        page = origin.partition("://")[2]
        if page != named[0] and host_name(page) not in hosts:
            return JSONResponse({"detail": "a page of another server can't ask this one"}, 403)
    return None


def host_name(host: str) -> str | None:
    """The name in a header Host, in lower case and without its port; None: it is invalid.

    >>> host_name("LocalHost:8765"), host_name("[::1]:80"), host_name("localhost@evil.example")
    ('localhost', '[::1]', None)
    """
    match = _HOST.fullmatch(host.lower())
    return match[1] if match else None


def unmeasured(method: str, headers: Headers) -> JSONResponse | None:
    """The error of a body that is too long or does not state its length; None: it is short enough.

    A chunked body can have any length, whatever the other header states.
    """
    length = headers.get("content-length", "" if method == "POST" else "0")
    if "transfer-encoding" in headers:
        length = ""
    if length.isdecimal() and len(length) < 9 and int(length) <= LONGEST_BODY:
        return None
    detail = f"a body has a length, of {LONGEST_BODY:,} bytes at most"
    return JSONResponse({"detail": detail}, 413, {"connection": "close"})


async def _discard(headers: Headers, receive: Receive) -> None:
    """Read what a refused caller sends, up to ``MOST_DISCARDED`` bytes and ``DISCARD_S`` seconds.

    A connection that is closed with unread bytes is reset, and its caller may lose the answer. One
    that expects a 100 (Continue) sends nothing before the answer.
    """
    left = 0 if "expect" in headers else MOST_DISCARDED
    with anyio.move_on_after(DISCARD_S):
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if not message.get("more_body"):
                break


async def _read(receive: Receive) -> Receive | None:
    """Read a request to its end; a ``receive`` that returns it, then its caller's disconnection.

    None: its caller has disconnected already.
    """
    body, message = bytearray(), await receive()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
        message = await receive()
    else:
        return None
    whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def again() -> Message:
        return whole.pop() if whole else await receive()

    return again


def _headed(send: Send) -> Send:
    """``send`` with the headers of every response, against content sniffing and embedding."""

    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["x-content-type-options"] = "nosniff"
            headers["cross-origin-resource-policy"] = "same-origin"
        await send(message)

    return headed


@contextmanager
def _traced(headers: Headers) -> Iterator[None]:
    """The trace of the headers, or that of a surrounding program."""
    around = trace.get_current_span() is not trace.INVALID_SPAN
    token = attach(get_current() if around else propagate.extract(headers))
    try:
        yield
    finally:
        detach(token)


@contextmanager
def _with_asker(one: Asker) -> Iterator[None]:
    token = asker.set(one)
    try:
        yield
    finally:
        asker.reset(token)
