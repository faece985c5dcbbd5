"""Turns, deadlines, and questions whose caller has gone; on a real server."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
import time
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from opentelemetry import trace

from dataflow.service.limits import Gate, Late, answered
from dataflow.service.tools import Service
from operators.foundation.cancellation import Cancelled, check
from operators.postgres.search.batches import SearchTimeout


class Slow:
    """An application that tells in which order it was let in, and how many were in it at once."""

    def __init__(self) -> None:
        self.order, self.inside, self.most = list[str](), 0, 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.order.append(dict(scope["headers"])[b"x-caller"].decode())
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0.02)
        self.inside -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def asked(gate: Gate, callers: list[str]) -> list[httpx2.Response]:
    async def run() -> list[httpx2.Response]:
        transport = httpx2.ASGITransport(app=gate)
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            calls = [client.post("/", headers={"x-caller": one}, content=b"x") for one in callers]
            return list(await asyncio.gather(*calls))

    return anyio.run(run)


def test_callers_take_turns_however_much_one_of_them_asks() -> None:
    slow = Slow()
    gate = Gate(slow, running=1)
    answers = asked(gate, [*["greedy"] * 6, "modest", "late"])
    assert {one.status_code for one in answers} == {200}
    assert slow.most == 1
    assert slow.order[:4] == ["greedy", "greedy", "modest", "late"]
    assert asked(gate, ["again"])[0].status_code == 200


def test_an_answer_is_of_its_callers_trace_or_of_a_program_around_the_server() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(trace.get_current_span().get_span_context())
        await Slow()(scope, receive, send)

    async def around(scope: Any, receive: Any, send: Any) -> None:
        with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(7, 8, is_remote=False))):
            await Gate(app)(scope, receive, send)

    async def ask(app: Any, headers: dict[str, str]) -> None:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            await client.post("/", headers={"x-caller": "a", **headers}, content=b"x")
        assert trace.get_current_span() is trace.INVALID_SPAN

    named = {"traceparent": f"00-{1:032x}-{2:016x}-01"}
    for one, headers in ((Gate(app), named), (Gate(app), {}), (around, named), (around, {})):
        anyio.run(ask, one, headers)
    assert [one.trace_id for one in seen] == [1, 0, 7, 7]


def test_where_too_many_wait_the_answer_says_when_to_come_back() -> None:
    slow = Slow()
    answers = asked(Gate(slow, running=2, most=3), [f"caller {n}" for n in range(8)])
    refused = [one for one in answers if one.status_code == 429]
    assert (len(refused), slow.most) == (3, 2)
    assert refused[0].headers["retry-after"] == "2"
    assert "come back" in refused[0].json()["detail"]


def test_a_question_that_takes_too_long_stops() -> None:
    stopped = threading.Event()

    def work() -> None:
        try:
            while True:
                check()
                time.sleep(0.01)
        except Cancelled:
            stopped.set()
            raise

    with pytest.raises(Late, match=r"no answer within 0\.2 s"):
        anyio.run(answered, work, 0.2)
    assert stopped.wait(5)
    assert anyio.run(answered, lambda: 7, 5) == 7


def test_a_search_that_took_too_long_keeps_its_own_words() -> None:
    def work() -> None:
        raise SearchTimeout("docs took longer than 2 s")

    with pytest.raises(SearchTimeout, match="docs took longer"):
        anyio.run(answered, work, 30)


@pytest.mark.parametrize(
    ("path", "body"), [("search", b'{"query": "cache"}'), ("batch", b'{"queries": ["cache"]}')]
)
def test_a_caller_that_goes_takes_its_searches_along(
    client: httpx2.Client, service: Service, path: str, body: bytes
) -> None:
    """Its searches wait for a lock, as they would for a disk."""

    def searching() -> int:
        (count,) = watcher.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND application_name = 'crosscorpus' AND query LIKE '%%chunks%%'"
        ).fetchone() or (0,)
        return int(count)

    def until(wanted: bool) -> bool:
        end = time.monotonic() + 10
        while (searching() > 0) is not wanted and time.monotonic() < end:
            time.sleep(0.05)
        return (searching() > 0) is wanted

    schema = service.store.schema
    with (
        psycopg.connect(service.store.dsn) as locker,
        psycopg.connect(service.store.dsn, autocommit=True) as watcher,
    ):
        locker.execute(f'LOCK TABLE "{schema}".chunks IN ACCESS EXCLUSIVE MODE')
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as caller:
            head = b"POST /api/%s HTTP/1.1\r\nHost: localhost\r\n" % path.encode()
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            caller.sendall(head + body)
            assert until(True)
        assert until(False)
        locker.rollback()
    assert client.post("/api/search", json={"query": "cache"}).status_code == 200


def test_a_thousand_idle_connections_keep_nobody_out(client: httpx2.Client) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 3_000:
        pytest.skip(f"this process may open {most} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    place = (client.base_url.host, client.base_url.port or 80)
    idle = [socket.create_connection(place) for _ in range(1_000)]
    for one in idle[800:]:
        one.sendall(b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Le")
    try:
        assert client.post("/api/search", json={"query": "cache"}).status_code == 200
    finally:
        for one in idle:
            one.close()
