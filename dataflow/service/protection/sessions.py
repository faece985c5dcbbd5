"""A person's sign-in on the page: his token or his organisation once, then a cookie without either.

The cookie is a random name of a session in this process's memory. No script can read it
(``HttpOnly``), no other site can send it (``SameSite=Strict``), and it ends with the browser, after
``HOURS``, with the server or by signing out. Each request asks for the token's caller again: a
token that was withdrawn or is over ends its sessions. A session of an organisation's provider
(:mod:`dataflow.service.protection.provider_sign_in`) keeps the user and his groups instead.
"""

import secrets
import time
from collections import OrderedDict
from typing import Annotated

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from dataflow.service.protection.limits import asker
from dataflow.service.protection.tokens import Callers, NoTokens

COOKIE = "crosscorpus_session"
HOURS = 12
MOST = 10_000
"""Sessions at once; the oldest ends for a new one."""


Holder = str | tuple[str, ...]
"""Whose session it is: a token, or a user and his groups."""


class Sessions:
    """The holders of the sessions, by their names: 256 random bits."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[Holder, float]] = OrderedDict()

    def begin(self, holder: Holder) -> str:
        """The name of a new session of ``holder``."""
        name = secrets.token_urlsafe(32)
        self._open[name] = (holder, time.monotonic() + HOURS * 3600)
        while len(self._open) > MOST:
            self._open.popitem(last=False)
        return name

    def holder(self, name: str | None) -> Holder:
        """The holder of a session; empty: there is none, or it is over."""
        holder, end = self._open.get(name or "", ("", 0.0))
        if holder and time.monotonic() > end:
            self.end(name)
            return ""
        return holder

    def end(self, name: str | None) -> None:
        """End a session, if there is one."""
        self._open.pop(name or "", None)


class SignIn(BaseModel):
    """What a person gives to sign in."""

    token: Annotated[str, Field(max_length=20_000)]


class Session(BaseModel):
    """Who asks, whether he must sign in, where with his organisation, and if by a token too."""

    caller: str | None
    needed: bool
    organisation: str | None = None
    by_token: bool = True


def serve_sessions(
    app: FastAPI, tokens: Callers | None, sessions: Sessions, organisation: str | None = None
) -> None:
    """Add ``/session`` to ``app``: who asks (GET), to sign in (POST), to sign out (DELETE)."""

    @app.get("/session", include_in_schema=False)
    async def session() -> Session:
        """Who asks."""
        who = asker.get()
        named = who.principals[0] if who and who.principals else None
        needed, by_token = tokens is not None, not isinstance(tokens, NoTokens)
        how = {"needed": needed, "by_token": by_token}
        return Session(caller=named, organisation=organisation, **how)

    @app.post("/session", include_in_schema=False)
    async def sign_in(given: SignIn, request: Request) -> Response:
        """Begin a session for a known token."""
        token = given.token.strip()
        known = None if tokens is None else await anyio.to_thread.run_sync(tokens.caller, token)
        if not known:
            return JSONResponse({"detail": "this token is unknown, or it is over"}, 401)
        answer = JSONResponse(Session(caller=known[0], needed=True).model_dump())
        secure = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
        set_session(answer, sessions.begin(token), secure)
        return answer

    @app.delete("/session", include_in_schema=False)
    async def sign_out(request: Request) -> Response:
        """End the session."""
        sessions.end(request.cookies.get(COOKIE))
        answer = Response(status_code=204)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


def set_session(answer: Response, name: str, secure: bool) -> None:
    """Give a browser the cookie of the session ``name``; ``secure``: it is sent by https alone."""
    answer.set_cookie(COOKIE, name, httponly=True, samesite="strict", secure=secure)
