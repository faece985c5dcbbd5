"""A server that speaks the endpoints of GitHub's API which the synchronisation asks, over HTTP.

It keeps to what the documentation says of them: listings by ``since``, ``sort``, ``direction``,
``per_page`` (at most 100) and ``page``, a ``Link`` header where there are more pages, an ``ETag``
on every answer, 304, 301 for renamed and transferred things, 404 and 410 for deleted ones, and the
headers of rate limits. ``faults`` are given first, one a request.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

ReadIssue = tuple[int, dict[str, str], Any]
TOO_FAR = {"message": "In order to keep the API fast for everyone, pagination is limited"}


@dataclass
class GitHub:
    """One repository and what was asked of it."""

    name: str = "org/app"
    number: int = 1300192
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    reviews: dict[int, dict[str, Any]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    issue_comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    renamed_from: set[str] = field(default_factory=set)
    transferred: dict[int, str] = field(default_factory=dict)
    issues_enabled: bool = True
    seen: dict[str, Any] = field(default_factory=lambda: {"private": False})
    since_is_inclusive: bool = True
    most_items: int = 10_000
    cursors: bool = False  # links have `after`, as of large listings
    faults: list[ReadIssue | None] = field(default_factory=list)
    failing: dict[str, ReadIssue] = field(default_factory=dict)
    before: Callable[[str], None] = lambda path: None
    requests: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    url: str = ""

    def put(self, kind: str, *items: dict[str, Any]) -> None:
        """Create or change items of ``comments``, ``reviews``, ``issues`` or ``issue_comments``."""
        for item in items:
            key = item["number"] if kind == "issues" else item["id"]
            getattr(self, kind)[key] = item

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.requests]

    def forget(self) -> None:
        self.requests.clear()
        self.statuses.clear()

    def answer(self, path: str, query: dict[str, str]) -> ReadIssue:
        if self.faults and (fault := self.faults.pop(0)) is not None:
            return fault
        if path in self.failing:
            return self.failing[path]
        self.before(path)
        parts = path.strip("/").split("/")
        if parts[:1] == ["repositories"] and parts[1] == str(self.number):
            return self._of_repository(parts[2:], query)
        name = "/".join(parts[1:3])
        if name in self.renamed_from:
            rest = "/".join(["repositories", str(self.number), *parts[3:]])
            rest += f"?{urlencode(query)}" if query else ""
            return 301, {"Location": f"{self.url}/{rest}"}, {"message": "Moved Permanently"}
        if parts[0] != "repos" or name.lower() != self.name.lower():
            return 404, {}, {"message": "Not Found"}
        return self._of_repository(parts[3:], query)

    def _of_repository(self, rest: list[str], query: dict[str, str]) -> ReadIssue:
        match rest:
            case []:
                return 200, {}, {"id": self.number, "full_name": self.name, **self.seen}
            case ["pulls", "comments"]:
                return self._list(self.comments, query, rest)
            case ["pulls", "comments", number]:
                return self._one(self.comments, number)
            case ["pulls", number, "reviews"]:
                if not self.issues.get(int(number), {}).get("pull_request"):
                    return 404, {}, {"message": "Not Found"}
                end = f"/pulls/{number}"
                of = {k: v for k, v in self.reviews.items() if v["pull_request_url"].endswith(end)}
                return self._list(of, query, rest)
            case ["issues", *_] if not self.issues_enabled:
                return 410, {}, {"message": "Issues are disabled for this repo"}
            case ["issues"]:
                assert query["state"] == "all"
                return self._list(self.issues, query, rest)
            case ["issues", "comments"]:
                return self._list(self.issue_comments, query, rest)
            case ["issues", "comments", number]:
                return self._one(self.issue_comments, number)
            case ["issues", number]:
                if int(number) in self.transferred:
                    target = self.transferred[int(number)]
                    return 301, {"Location": f"{self.url}{target}"}, {"message": "Moved"}
                return self._one(self.issues, number, deleted=410)
        return 404, {}, {"message": "Not Found"}

    def _one(self, items: dict[int, dict[str, Any]], number: str, deleted: int = 404) -> ReadIssue:
        item = items.get(int(number))
        return (200, {}, item) if item else (deleted, {}, {"message": "Not Found"})

    def _list(
        self, items: dict[int, dict[str, Any]], query: dict[str, str], rest: list[str]
    ) -> ReadIssue:
        found = [items[key] for key in sorted(items)]
        if query.get("sort") == "updated":
            found.sort(key=lambda item: item["updated_at"])
        if query.get("direction") == "desc":
            found.reverse()
        since = query.get("since", "")
        found = [
            item
            for item in found
            if not since
            or item["updated_at"] > since
            or (self.since_is_inclusive and item["updated_at"] == since)
        ]
        size = min(int(query.get("per_page", 30)), 100)
        page = int(query.get("after") or query.get("page", 1))
        if "after" not in query and size * (page - 1) >= self.most_items:
            return 422, {}, TOO_FAR
        headers = {}
        if len(found) > size * page:
            # As the real one does, by the repository's number.
            path = "/".join(["repositories", str(self.number), *rest])
            step = {"page": page + 1} | ({"after": page + 1} if self.cursors else {})
            following = urlencode({**query, **step})
            headers["Link"] = (
                f'<{self.url}/{path}?{following}>; rel="next", <{self.url}/{path}>; rel="first"'
            )
        return 200, headers, found[size * (page - 1) : size * page]


@contextmanager
def serving(state: GitHub, tls: ssl.SSLContext | None = None) -> Iterator[GitHub]:
    """Serve ``state`` on this machine, by https with ``tls``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = (
            True  # else a body waits 40 ms for the acknowledgement of its head
        )

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
            state.requests.append((parts.path, query, dict(self.headers)))
            status, headers, content = state.answer(parts.path, query)
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            etag = f'W/"{hashlib.sha256(raw).hexdigest()}"'
            if status == 200 and self.headers.get("If-None-Match") == etag:
                status, raw = 304, b""
            state.statuses.append(status)
            self.send_response_only(status)
            if "Date" not in headers:
                self.send_header("Date", formatdate(usegmt=True))
            self.send_header("ETag", etag)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers and status != 304:
                self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
            if "Content-Length" in headers:  # a body that breaks off
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    state.url = f"http{'s' if tls else ''}://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
