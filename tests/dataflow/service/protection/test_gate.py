"""Who may ask, and requests that do not arrive whole; at a real server but for the traces."""

from __future__ import annotations

import socket
from collections.abc import Callable
from itertools import product
from typing import Any

import anyio
import httpx2
import pytest
from opentelemetry import trace

from dataflow.service.protection.gate import Gate

ROUTES = [
    ("GET", "/"),
    ("GET", "/static/page.js"),
    ("GET", "/p/code:1"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("POST", "/api/status"),
    ("POST", "/nothing"),
    ("DELETE", "/api/status"),
]


def place(client: httpx2.Client) -> tuple[str, int]:
    return client.base_url.host, client.base_url.port or 80


def replied(client: httpx2.Client, head: bytes, body: bytes = b"") -> bytes:
    """All that the server sends to these bytes."""
    with socket.create_connection(place(client), timeout=20) as caller:
        caller.sendall(head + b"\r\n\r\n" + body)
        return b"".join(iter(lambda: caller.recv(65_536), b""))


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "localhost, evil.example",
     "2130706433", "0.0.0.0", "", "[::1", "localhost:", "127.1"],
)  # fmt: skip
def test_a_name_that_is_not_the_servers_is_refused_everywhere(
    client: httpx2.Client, host: str
) -> None:
    for method, path in ROUTES if host == "evil.example" else ROUTES[-4:-3]:
        answer = client.request(method, path, headers={"Host": host})
        assert answer.status_code == 400, path
        assert "--allow-host" in answer.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:8765", "[::1]:8765"])
def test_names_of_this_machine_are_the_servers(client: httpx2.Client, host: str) -> None:
    assert client.post("/api/status", json={}, headers={"Host": host}).status_code == 200


def test_a_request_has_one_host(client: httpx2.Client) -> None:
    head = b"GET /healthz HTTP/1.1\r\nconnection: close"
    both = (b"\r\nhost: localhost", b"\r\nhost: evil.example")
    for hosts in (both[0] + both[1], both[1] + both[0], b""):
        assert replied(client, head + hosts).startswith(b"HTTP/1.1 400 ")
    named = b"\r\nhost: evil.example\r\nx-forwarded-host: localhost\r\nforwarded: host=localhost"
    assert replied(client, head + named).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:9",
     "", "https://localhost:9", "file://"],
)  # fmt: skip
def test_a_page_of_another_server_can_not_ask(client: httpx2.Client, origin: str) -> None:
    asked = [("POST", "/api/search"), ("GET", "/healthz")]
    for (method, path), kind in product(asked, ("application/json", "text/plain")):
        headers = {"origin": origin, "content-type": kind}
        answer = client.request(method, path, headers=headers, content=b'{"query": "cache"}')
        assert answer.status_code == 403, answer.text
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_servers_own_page_asks(client: httpx2.Client) -> None:
    own = {"origin": str(client.base_url).rstrip("/")}
    assert client.post("/api/status", json={}, headers=own).status_code == 200


def through(gate: Callable[..., Any], **headers: str) -> int:
    async def ask() -> int:
        transport = httpx2.ASGITransport(app=gate)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/", headers=headers, content=b"x")).status_code

    return anyio.run(ask)


async def plain(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_a_name_that_the_server_was_given_is_its_own_also_for_pages() -> None:
    gate = Gate(plain, hosts=["search.example"])
    assert through(gate, host="search.example:443") == 200
    assert through(gate, host="127.0.0.1:1", origin="https://search.example") == 200
    assert through(gate, host="example") == 400
    assert through(gate, host="search.example", origin="https://example") == 403


def test_a_page_at_another_port_of_the_servers_own_address_is_of_another_server() -> None:
    gate = Gate(plain, hosts=["search.example"], here=["127.0.0.1", "192.0.2.1"])
    assert through(gate, host="192.0.2.1:8765", origin="http://192.0.2.1:8765") == 200
    assert through(gate, host="192.0.2.1:8765", origin="http://192.0.2.1:9") == 403
    assert through(gate, host="127.0.0.1:8765", origin="http://192.0.2.1:8765") == 403


def test_no_browser_guesses_what_an_answer_is_or_embeds_it(client: httpx2.Client) -> None:
    for method, path in ROUTES:
        for host in ("localhost", "evil.example"):
            headers = client.request(method, path, headers={"Host": host}).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_caller_that_goes_before_its_body_is_there_costs_no_work() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the application was asked")

    left = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{", "more_body": True}]

    async def run() -> None:
        async def receive() -> Any:
            return left.pop()

        async def send(message: Any) -> None:
            raise AssertionError(message)

        headers = [(b"host", b"localhost"), (b"content-length", b"9")]
        await Gate(app)({"type": "http", "method": "POST", "headers": headers}, receive, send)

    anyio.run(run)
    assert not left


def test_a_body_in_chunks_is_refused_also_where_it_says_a_length(client: httpx2.Client) -> None:
    for kind in (b"chunked", b"Chunked"):
        head = b"POST /api/status HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n"
        answer = replied(client, head + b"transfer-encoding: " + kind, b"2\r\n{}\r\n0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_arrive_in_time_is_told_so() -> None:
    async def silent() -> Any:
        await anyio.sleep_forever()

    sent = list[Any]()

    async def run() -> None:
        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-length", b"9")]
        scope = {"type": "http", "method": "POST", "headers": headers}
        await Gate(plain, seconds=0.1)(scope, silent, send)

    anyio.run(run)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert b"0.1 s" in sent[1]["body"]


def test_an_answer_is_of_its_callers_trace_or_of_a_program_around_the_server() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(trace.get_current_span().get_span_context())
        await plain(scope, receive, send)

    async def around(scope: Any, receive: Any, send: Any) -> None:
        with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(7, 8, is_remote=False))):
            await Gate(app)(scope, receive, send)

    named = {"traceparent": f"00-{1:032x}-{2:016x}-01"}
    for one, headers in ((Gate(app), named), (Gate(app), {}), (around, named), (around, {})):
        assert through(one, **headers) == 200
        assert trace.get_current_span() is trace.INVALID_SPAN
    assert [one.trace_id for one in seen] == [1, 0, 7, 7]
