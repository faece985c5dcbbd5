"""A client of GitHub's REST API, by the rules of its documentation.

It sends one request at a time, conditional if possible; follows redirects and pages only on the
token's server; obeys rate limits; and retries requests that may succeed later. The token is only in
one header: no address, message, log or ``repr`` contains it.

PyGithub, githubkit and ghapi were tried against the tests' server; the client is ours because none
of them requests a failed page again with fewer items, repeats a body that broke off, or reports its
waits (``benchmarks/notes/github_clients.md``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2

from operators.errors import CrosscorpusError
from operators.foundation.certificates import untrusted
from operators.sources.protocol import printable

URL = "https://api.github.com"
URL_VARIABLE = "GITHUB_API_URL"
TOKEN_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")
API_VERSION = "2022-11-28"
PER_PAGE = 100
LONGEST_WAIT_S = 3900.0
"""A rate limit with a longer wait is an error."""

_TIMEOUT_S, _CONNECT_S = 30.0, 5.0
_ATTEMPTS = 6
_LIMITED_ATTEMPTS = 8
_SMALLEST_PAGE = 10
_MOST_REDIRECTS = 5
_AGAIN = {408, 500, 502, 503, 504}
_WITHOUT_A_TIME_S = 60.0


class GithubError(CrosscorpusError):
    """The API refuses or does not reply; ``status`` is the HTTP status, if any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """One response."""

    body: Any  # the JSON value; None if nothing has changed since the request's tag
    etag: str | None  # for the next request
    next_url: str | None  # of the next page
    changed: bool = True  # False for status 304


@dataclass
class GithubApi(AbstractContextManager["GithubApi"]):
    """An open connection to the API at ``url``. Close it, or use it in a ``with`` block."""

    url: str
    on_wait: Callable[[float, str], None] | None = field(repr=False)
    _client: httpx2.Client = field(repr=False)
    _token: str = field(repr=False)
    _sleep: Callable[[float], None] = field(repr=False)
    requests: int = 0  # made so far

    def get(
        self, path: str, params: Mapping[str, str | int] | None = None, *, etag: str | None = None
    ) -> Answer:
        """Request ``path`` (or the address of a further page), with retries.

        A page that the server fails to make is requested again with fewer items, if ``params`` has
        ``per_page``.

        Raises:
            GithubError: it refuses, a rate limit lasts too long, or all attempts failed.
        """
        url = path if "://" in path else f"{self.url}/{path.lstrip('/')}"
        query = None if params is None else dict(params)
        failed = limited = 0
        while True:
            wait = 0.0
            try:
                response = self._send(url, query, etag)
            except httpx2.TransportError as exc:
                # Not chained: its request has the token in a header.
                if reason := untrusted(exc):
                    raise GithubError(f"{urlsplit(url).netloc}: {reason}") from None
                away = isinstance(exc, httpx2.ConnectError | httpx2.ConnectTimeout)
                what = "no connection" if away else "no whole answer"
                problem, status = f"{what} ({type(exc).__name__})", None
            else:
                status = response.status_code
                if status == 304 or response.is_success:
                    try:
                        return self._answer(response)
                    except ValueError:
                        problem = "the answer breaks off"
                elif (retry_after := _limit(response)) is not None:
                    limited += 1
                    wait = retry_after or _WITHOUT_A_TIME_S * 2 ** (limited - 1)
                    self._check_wait(wait, limited)
                    self._wait(wait, "GitHub's rate limit")
                    continue
                elif status in _AGAIN:
                    problem = f"HTTP {status}"
                else:
                    raise self._refusal(response)
            failed += 1
            if failed >= _ATTEMPTS:
                where = urlsplit(url)
                raise GithubError(
                    f"{where.netloc}{where.path}: {problem}, {failed} times; try again later",
                    status,
                ) from None
            if query and failed > 1 and "per_page" in query:
                query["per_page"] = max(_SMALLEST_PAGE, int(query["per_page"]) // 2)
            tried = f"{urlsplit(url).netloc}: {problem}, {failed} of {_ATTEMPTS} times"
            self._wait(2.0 ** (failed - 1), tried)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def __exit__(self, *error: object) -> None:
        """Close it."""
        self.close()

    def _send(
        self, url: str, query: Mapping[str, str | int] | None, etag: str | None
    ) -> httpx2.Response:
        headers = {"If-None-Match": etag} if etag else {}
        self._check_here(url)
        for _ in range(_MOST_REDIRECTS + 1):
            self.requests += 1
            response = self._client.get(url, params=query, headers=headers)
            if response.next_request is None:
                return response
            url, query = str(response.next_request.url), None
            self._check_here(url)
        raise GithubError(f"{urlsplit(url).netloc} sends on and on: more than {_MOST_REDIRECTS}")

    def _check_here(self, url: str) -> None:
        if _origin(url) != _origin(self.url):
            raise GithubError(
                f"{_shown(self.url)} sends on to {_shown(url)}, which the token is not for: if "
                f"that is the right server, name it ({URL_VARIABLE})"
            )

    def _answer(self, response: httpx2.Response) -> Answer:
        etag = response.headers.get("ETag")
        if response.status_code == 304:
            return Answer(None, etag, None, changed=False)
        link = response.links.get("next", {}).get("url")
        return Answer(response.json(), etag, link and urljoin(str(response.url), link))

    def _check_wait(self, wait: float, limited: int) -> None:
        if wait > LONGEST_WAIT_S or limited > _LIMITED_ATTEMPTS:
            until = datetime.fromtimestamp(time.time() + wait, UTC)
            more = "" if self._token else f", or set {TOKEN_VARIABLES[0]}: it allows far more"
            raise GithubError(
                f"GitHub's rate limit is used up until {until:%Y-%m-%d %H:%M} UTC; what was "
                f"fetched is kept: run this again then{more}",
                429,
            )

    def _wait(self, seconds: float, reason: str) -> None:
        if self.on_wait:
            self.on_wait(seconds, reason)
        self._sleep(seconds)

    def _refusal(self, response: httpx2.Response) -> GithubError:
        status, where = response.status_code, _shown(self.url)
        path = urlsplit(str(response.url)).path
        token = f"the token in {' or '.join(TOKEN_VARIABLES)}"
        if status == 401:
            return GithubError(f"{where} refuses {token}: it is wrong or has expired", status)
        reason = self._reason(response)
        if status in (404, 410):
            may = f"{token} may not read it" if self._token else f"it is private ({token} is unset)"
            gone = "is gone" if status == 410 else f"is not there, or {may}"
            return GithubError(f"{where}{path} {gone}{reason}", status)
        if status == 403:
            return GithubError(f"{where}{path} is refused{reason}: {token} lacks a right", status)
        return GithubError(f"{where}{path}: HTTP {status}{reason}", status)

    def _reason(self, response: httpx2.Response) -> str:
        message = _message(response)
        if self._token:
            message = message.replace(self._token, "***")
        return f" ({printable(message)[:200]})" if message else ""


def open_github(
    url: str | None = None,
    *,
    token: str | None = None,
    on_wait: Callable[[float, str], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> GithubApi:
    """Open a connection without sending a request.

    Args:
        url: the API's address; default: ``GITHUB_API_URL``, else github.com's. GitHub Enterprise
            Server has its own at ``https://HOST/api/v3``.
        token: default: ``GITHUB_TOKEN``, else ``GH_TOKEN``; without it: public ones, slowly.
        on_wait: called with seconds and reason before each wait.
        sleep: waits that many seconds.

    Raises:
        GithubError: the address or the token is invalid.
    """
    address = (url or os.environ.get(URL_VARIABLE) or URL).strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise GithubError(f"not an address of an API: write it as {URL} or https://HOST/api/v3")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise GithubError(f"the address holds a secret: put the token into {TOKEN_VARIABLES[0]}")
    if token is None:
        token = next((os.environ[name] for name in TOKEN_VARIABLES if os.environ.get(name)), "")
    token = token.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise GithubError(f"{' or '.join(TOKEN_VARIABLES)} holds characters that no token has")
    if token and parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise GithubError(f"{_shown(address)}: a token is sent over https only")
    headers = {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": API_VERSION,
        "User-Agent": "crosscorpus",
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    timeout = httpx2.Timeout(_TIMEOUT_S, connect=_CONNECT_S)  # no network is told soon
    client = httpx2.Client(headers=headers, timeout=timeout, follow_redirects=False)
    return GithubApi(address, on_wait, client, token, sleep)


def _limit(response: httpx2.Response) -> float | None:
    """Seconds to wait for a rate limit, 0 if it states no time; None: it is no limit."""
    if response.status_code not in (403, 429):
        return None
    after = response.headers.get("Retry-After", "").strip()
    if after:
        return max(1.0, float(after)) if after.isdecimal() else 0.0
    if response.headers.get("X-RateLimit-Remaining") == "0":
        reset = response.headers.get("X-RateLimit-Reset", "")
        return max(1.0, float(reset) - time.time() + 1) if reset.isdecimal() else 0.0
    if response.status_code == 429:
        return 0.0
    message = _message(response).lower()
    return 0.0 if "rate limit" in message or "abuse detection" in message else None


def _message(response: httpx2.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return ""
    message = body.get("message") if isinstance(body, dict) else None
    return message if isinstance(message, str) else ""


def _origin(url: str) -> tuple[str, str | None, int]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", None, 0


def _shown(url: str) -> str:
    """Scheme, host and path; user-info and query left out."""
    parts = urlsplit(url)
    return printable(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")
