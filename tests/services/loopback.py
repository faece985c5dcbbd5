"""Small servers on loopback that answer as the published interfaces of four services do.

Each service is a function from a request to an answer, over lists that a test changes. ``faults``
are given first, one a request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Answer = tuple[int, dict[str, str], Any]
Service = Callable[["Loopback", str, dict[str, str]], Answer]
MISSING: Answer = (404, {}, {"message": "404 Not Found"})
MOST = 100  # records of a page, whatever the query asks for


def busy(seconds: int = 1) -> Answer:
    """The answer of a service that was asked too often."""
    body = {"ok": False, "error": "ratelimited", "message": "Rate limit exceeded"}
    return 429, {"Retry-After": str(seconds)}, body


@dataclass
class Loopback:
    """One service: what it has, and what it was asked."""

    service: Service
    records: dict[str, list[dict[str, Any]]]
    faults: list[Answer | None] = field(default_factory=list)
    before: Callable[[str, dict[str, str]], None] = lambda path, query: None
    requests: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.requests]

    def answer(self, path: str, query: dict[str, str], headers: dict[str, str]) -> Answer:
        self.requests.append((path, query, headers))
        if self.faults and (fault := self.faults.pop(0)) is not None:
            return fault
        self.before(path, query)
        return self.service(self, path, query)


@contextmanager
def serving(service: Service, **records: list[dict[str, Any]]) -> Iterator[Loopback]:
    """Serve ``records`` until the end of the block."""
    loopback = Loopback(service, records)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            there = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            asked = dict(parse_qsl(there.query, keep_blank_values=True) + parse_qsl(body))
            code, headers, value = loopback.answer(there.path, asked, dict(self.headers))
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(code)
            kinds = {"Content-Type": "application/json", "Content-Length": str(len(content))}
            for name, text in {**kinds, **headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:  # a client that was killed
            pass

    with Server(("127.0.0.1", 0), Handler) as server:
        loopback.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield loopback
        finally:
            server.shutdown()


def jira(one: Loopback, path: str, query: dict[str, str]) -> Answer:
    """Jira Cloud's search by JQL: no total, a token for the next page; texts of v2 are strings."""
    if path.endswith("/serverInfo"):
        info = {"deploymentType": "Cloud", "version": "1001.0.0", "versionNumbers": [1001, 0, 0]}
        return 200, {}, info | {"baseUrl": one.url}
    if path.endswith("/field"):
        return 200, {}, []
    if path in ("/rest/api/2/search/jql", "/rest/api/3/search/jql"):
        start = int(query.get("nextPageToken") or 0)
        end = start + min(int(query.get("maxResults") or 50), MOST)
        issues = one.records["issues"][start:end]
        last = end >= len(one.records["issues"])
        page = {"issues": [_v2(issue) if "/2/" in path else issue for issue in issues]}
        return 200, {}, page | {"isLast": last} | ({} if last else {"nextPageToken": str(end)})
    return MISSING


def _v2(issue: dict[str, Any]) -> dict[str, Any]:
    adf = issue["fields"]["description"]
    text = adf and " ".join(one["text"] for part in adf["content"] for one in part["content"])
    return {**issue, "fields": {**issue["fields"], "description": text}}


def confluence(one: Loopback, path: str, query: dict[str, str]) -> Answer:
    """Confluence's content: pages of a space by ``start``, with what ``expand`` names."""
    if path.removeprefix("/wiki") == "/rest/api/content":
        pages = [p for p in one.records["pages"] if p["space"]["key"] == query["spaceKey"]]
        start, limit = int(query.get("start") or 0), min(int(query.get("limit") or 25), MOST)
        found = pages[start : start + limit]
        links = {"base": one.url, "context": "/wiki"}
        if start + limit < len(pages):
            links["next"] = f"{path}?{urlencode({**query, 'start': start + limit})}"
        answer = {"results": found, "start": start, "limit": limit, "size": len(found)}
        return 200, {}, answer | {"_links": links}
    for page in one.records["pages"]:
        if path.endswith(f"/rest/api/content/{page['id']}"):
            return 200, {}, page
    return MISSING


def slack(one: Loopback, path: str, query: dict[str, str]) -> Answer:
    """Slack's Web API: every answer has ``ok``; pages by ``cursor``."""
    method = path.rpartition("/api/")[2]
    if method == "api.test":
        return 200, {}, {"ok": True}
    if method == "conversations.list":
        return _cursored("channels", one.records["channels"], query)
    if method == "users.list":
        return _cursored("members", one.records["users"], query)
    messages = [m for m in one.records["messages"] if m["channel"] == query.get("channel")]
    if method == "conversations.history":  # the newest first, without the answers in threads
        heads = [m for m in messages if m.get("thread_ts", m["ts"]) == m["ts"]]
        return _cursored("messages", heads[::-1], query)
    if method == "conversations.replies":
        thread = [m for m in messages if m.get("thread_ts", m["ts"]) == query["ts"]]
        return _cursored("messages", thread, query)
    return 200, {}, {"ok": False, "error": "unknown_method"}


def _cursored(name: str, found: list[dict[str, Any]], query: dict[str, str]) -> Answer:
    start = int(query.get("cursor") or 0)
    end = start + min(int(query.get("limit") or MOST), MOST)
    more = end < len(found)
    page = {"ok": True, name: found[start:end], "has_more": more}
    return 200, {}, page | {"response_metadata": {"next_cursor": str(end) if more else ""}}


def gitlab(one: Loopback, path: str, query: dict[str, str]) -> Answer:
    """GitLab's v4: pages by number, with ``Link`` and ``X-Next-Page``."""
    parts = path.removeprefix("/api/v4/").strip("/").split("/")
    match parts:
        case ["projects", number]:
            return 200, {}, {"id": int(number), "path_with_namespace": "group/app"}
        case ["projects", _, "issues" | "merge_requests" as kind]:
            return _numbered(one, path, one.records[kind], query)
        case ["projects", _, "issues" | "merge_requests" as kind, iid, "discussions"]:
            of = [d for d in one.records["discussions"] if _is_on(d, kind, iid)]
            return _numbered(one, path, of, query)
        case ["projects", _, "issues" | "merge_requests" as kind, iid, "notes"]:
            of = [d for d in one.records["discussions"] if _is_on(d, kind, iid)]
            return _numbered(one, path, [n for d in of for n in d["notes"]], query)
    return MISSING


def _is_on(discussion: dict[str, Any], kind: str, iid: str) -> bool:
    note = discussion["notes"][0]
    kinds = {"Issue": "issues", "MergeRequest": "merge_requests"}
    return (kinds[note["noteable_type"]], str(note["noteable_iid"])) == (kind, iid)


def _numbered(
    one: Loopback, path: str, found: list[dict[str, Any]], query: dict[str, str]
) -> Answer:
    page, size = int(query.get("page") or 1), min(int(query.get("per_page") or 20), MOST)
    more = page * size < len(found)
    headers = {"X-Page": str(page), "X-Per-Page": str(size), "X-Total": str(len(found))}
    headers["X-Next-Page"] = str(page + 1) if more else ""
    if more:
        following = urlencode({**query, "page": page + 1, "per_page": size})
        headers["Link"] = f'<{one.url}{path}?{following}>; rel="next"'
    return 200, headers, found[(page - 1) * size : page * size]
