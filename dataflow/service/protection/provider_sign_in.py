"""A person signs in on the page with the organisation's provider (OpenID Connect Core 1.0, 3.1).

The browser goes to the provider and comes back with a code. This server exchanges the code for an
ID token, by PKCE (RFC 7636), verifies it and drops it: the session keeps the user and his groups. A
short-lived cookie of the browser keeps what proves that it began this sign-in. That cookie is
``SameSite=Lax``: one that is ``Strict`` does not come back from another site.
"""

import hashlib
import hmac
import html
import logging
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlencode

import anyio
import anyio.to_thread
import httpx2
import jwt
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from dataflow.service.protection.group_claims import UnreadGroups
from dataflow.service.protection.sessions import Sessions, set_session
from dataflow.service.protection.signed_tokens import INVALID, KEPT_S, SignedTokens, is_safe
from operators.errors import CrosscorpusError

LOG = logging.getLogger("crosscorpus.tokens")
BEGUN = "crosscorpus_sign_in"
"""The cookie of a sign-in that has begun: state, nonce, PKCE's verifier, and the page to show."""
BEGUN_S = 600
_PATH = "/session/callback"
TIMEOUT_S = 5
"""Timeout in seconds for an answer of the provider."""
AT_ONCE = 8
"""Sign-ins that may wait for the provider at once: anybody may begin one."""
LONGEST_PAGE = 3_000
"""Most characters of the page to show: a cookie has at most 4,096 bytes."""

_AWAY = "your organisation's sign-in does not answer as it should: try again in a minute"
_STALE = (
    "this sign-in was not begun in this browser, it took over ten minutes, or it is done: sign in"
    " again, and allow cookies"
)
_CLOCKS = (
    "the provider's answer is already over or not yet valid: the clocks of this server and of the"
    " provider differ; tell who runs this server"
)
_UNVERIFIED = (
    "the provider's answer can't be verified: try again in a minute; if it stays, tell who runs"
    " this server"
)
_POLICY = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>crosscorpus: not signed in</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/static/page.css"><link rel="icon" href="data:,">
<h1>You are not signed in</h1><p role="alert">{}</p>
<p><a href="/session/begin">Sign in again</a> or <a href="/">go to the page</a></p></html>"""


class Refused(CrosscorpusError):
    """A sign-in failed: one line for the person, with what to do. The log has the cause."""

    def __init__(self, line: str, cause: object = None) -> None:
        super().__init__(line)
        LOG.warning("no sign-in: %s (%s)", line, " ".join(str(cause).split())[:300])


class ProviderSignIn:
    """The sign-in with one provider for one server.

    Args:
        issuer: the provider's address, as its tokens name it.
        client: this server's name at the provider.
        public_url: this server's address in browsers, without a slash at its end. The provider
            knows ``/session/callback`` below it.
        secret: the client's; empty: the client is public.
        scopes: to ask for beside ``openid``.
        user, groups: the claims of the ID token that name the user, and his groups.

    Raises:
        CrosscorpusError: the issuer's address is not safe.
    """

    def __init__(
        self, issuer: str, client: str, public_url: str, secret: str = "",
        scopes: Sequence[str] = (), user: str = "sub", groups: str = "groups",
    ) -> None:  # fmt: skip
        if not is_safe(issuer):
            raise CrosscorpusError(f"people sign in by https, not at {issuer}")
        self.issuer, self.client, self.public_url = issuer, client, public_url
        self.scopes, self._secret = ("openid", *scopes), secret
        self._claims = {"user": user, "groups": groups}
        self.begins_at = f"{public_url}/session/begin"
        self.comes_back_to = public_url + _PATH
        self._addresses, self._read_at = dict[str, Any](), 0.0
        self._tokens: SignedTokens | None = None

    def begin(self, page: str) -> tuple[str, str]:
        """The provider's address for a new sign-in, and the cookie that ties it to the browser.

        ``page``: the path of this server that is shown afterwards.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": self.comes_back_to,
            "scope": " ".join(self.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        address = self._provider()["authorization_endpoint"]
        page = quote(page if page.startswith("/") else "/", safe="")
        begun = (state, nonce, verifier, page if len(page) <= LONGEST_PAGE else "%2F")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}", ".".join(begun)

    def finish(self, answer: Mapping[str, str], cookie: str) -> tuple[tuple[str, ...], str]:
        """The user with his groups, and the address to show, from the provider's ``answer``."""
        state, nonce, verifier, page = [*cookie.split(".", 3), "", "", ""][:4]
        if not (state and hmac.compare_digest(state.encode(), answer.get("state", "").encode())):
            raise Refused(_STALE, "state")
        if code := answer.get("error"):
            code = code if re.fullmatch("[a-z_]{1,60}", code) else "an error"
            if code == "access_denied":
                raise Refused("the sign-in was cancelled, or you may not use this server", code)
            raise Refused(f"the provider answers {code}: sign in again", code)
        if answer.get("iss", self.issuer) != self.issuer:  # RFC 9207
            raise Refused(_UNVERIFIED, "another issuer")
        addresses = self._provider()
        token = self._id_token(addresses, answer.get("code", ""), verifier)
        try:
            if self._tokens is None:
                keys = addresses["jwks_uri"]
                self._tokens = SignedTokens(keys, self.issuer, self.client, **self._claims)
            return self._tokens.read(token, nonce), self.public_url + unquote(page)
        except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError) as error:
            raise Refused(_CLOCKS, error) from error
        except UnreadGroups as error:
            raise Refused(str(error), "groups") from error
        except INVALID as error:
            raise Refused(_UNVERIFIED, error) from error

    def _provider(self) -> dict[str, Any]:
        """The provider's addresses (OpenID Connect Discovery 1.0, 4), read every ``KEPT_S``."""
        if self._addresses and monotonic() - self._read_at < KEPT_S:
            return self._addresses
        where = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            found = httpx2.get(where, timeout=TIMEOUT_S).raise_for_status().json()
            if found["issuer"] != self.issuer:
                raise ValueError(f"--issuer is {self.issuer}, the provider's {found['issuer']}")
            for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                if not is_safe(found[name]):
                    raise ValueError(f"{name} is not by https")
        except (httpx2.HTTPError, httpx2.InvalidURL, LookupError, *INVALID) as error:
            raise Refused(_AWAY, error) from error
        if found["jwks_uri"] != self._addresses.get("jwks_uri"):
            self._tokens = None
        self._addresses, self._read_at = found, monotonic()
        return self._addresses

    def _id_token(self, addresses: Mapping[str, Any], code: str, verifier: str) -> str:
        """The ID token for a code, which is good once."""
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier}
        form["redirect_uri"] = self.comes_back_to
        ways = addresses.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        login = None
        if self._secret and "client_secret_basic" in ways:
            login = (quote_plus(self.client), quote_plus(self._secret))  # RFC 6749, 2.3.1
        else:
            form |= {"client_id": self.client}
            form |= {"client_secret": self._secret} if self._secret else {}
        try:
            reply = httpx2.post(
                addresses["token_endpoint"], data=form, auth=login, timeout=TIMEOUT_S
            )
            said = reply.json()
            if said.get("error") == "invalid_grant":
                raise Refused(_STALE, "invalid_grant")
            reply.raise_for_status()
            return str(said["id_token"])
        except (httpx2.HTTPError, LookupError, AttributeError, ValueError) as error:
            raise Refused(_AWAY, error) from error


def serve_sign_in(app: FastAPI, sign_in: ProviderSignIn, sessions: Sessions) -> None:
    """Add the way to the provider, ``/session/begin``, and back, ``/session/callback``."""
    secure = sign_in.public_url.startswith("https:")
    limiter = anyio.CapacityLimiter(AT_ONCE)  # a provider that is slow delays no question

    @app.exception_handler(Refused)
    def refused(_: Request, error: Refused) -> Response:
        headers = {"content-security-policy": _POLICY, "cache-control": "no-store"}
        return HTMLResponse(_PAGE.format(html.escape(str(error))), 403, headers)

    @app.get("/session/begin", include_in_schema=False)
    async def begin(to: str = "/") -> Response:
        """Send the browser to the provider; ``to``: the path that is shown afterwards."""
        address, cookie = await anyio.to_thread.run_sync(sign_in.begin, to, limiter=limiter)
        answer = _redirect(address)
        answer.set_cookie(BEGUN, cookie, BEGUN_S, path=_PATH, httponly=True, secure=secure)  # Lax
        return answer

    @app.get(_PATH, include_in_schema=False)
    async def callback(request: Request) -> Response:
        """Open the session, and show the page."""
        given = (request.query_params, request.cookies.get(BEGUN, ""))
        caller, page = await anyio.to_thread.run_sync(sign_in.finish, *given, limiter=limiter)
        answer = _redirect(page)
        answer.delete_cookie(BEGUN, _PATH, httponly=True, secure=secure)
        set_session(answer, sessions.begin(caller), secure)
        return answer


def _redirect(address: str) -> Response:
    headers = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
    return RedirectResponse(address, 303, headers)
