"""Turns, deadlines, callers that go, and connections that stand still; real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
import uvicorn
from hypothesis import example, given
from hypothesis import strategies as st

from dataflow.service.protection.connections import MOST, Connection
from dataflow.service.protection.limits import Asker, Busy, Late, Turns, answered, asker
from dataflow.service.running import configured
from dataflow.service.tools import Service
from operators.foundation.cancellation import Cancelled, check

LONG = b"x" * (8 << 20)


asked: list[tuple[str, Any]] = []
"""The path and the address of each request."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers /long with eight megabytes, /late after a second, all else at once.

    While it answers /busy nothing else runs.
    """
    if scope["type"] != "http":
        return
    asked.append((scope["path"], scope.get("client")))
    if scope["path"] == "/busy":
        time.sleep(0.5)
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/late":
        await asyncio.sleep(1)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": LONG if scope["path"] == "/long" else b"ok"})


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    @contextlib.contextmanager
    def serve(most: int = MOST, still_s: float = 0.3) -> Iterator[tuple[str, int]]:
        monkeypatch.setattr(Connection, "most", most)
        monkeypatch.setattr(Connection, "still_s", still_s)
        config = configured(app, port=0, log_level="error", lifespan="off")  # type: ignore[arg-type]
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield server.servers[0].sockets[0].getsockname()
        finally:
            server.should_exit = True
            thread.join()

    return serve


def ended(one: socket.socket) -> bool:
    """Whether the server ends this connection within five seconds."""
    one.settimeout(5)
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


@pytest.mark.parametrize("sent", [b"", b"G", b"POST / HTTP/1.1\r\nhost: x\r\nContent-Le"])
def test_a_request_that_never_arrives_ends_its_connection(
    serving: Callable[..., Any], sent: bytes
) -> None:
    with serving() as place, socket.create_connection(place) as one:
        one.sendall(sent)
        assert ended(one)


def test_a_caller_that_resets_its_connection_is_not_the_owner(serving: Callable[..., Any]) -> None:
    with serving() as place:
        with socket.create_connection(place) as one:
            one.sendall(b"GET /busy HTTP/1.1\r\nhost: x\r\n\r\n")
            time.sleep(0.1)
            other = socket.create_connection(place)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            other.sendall(b"GET /reset HTTP/1.1\r\nhost: x\r\n\r\n")
            other.close()
            one.recv(1)
        time.sleep(0.2)
    assert ("/reset", None) not in asked


def test_a_head_that_comes_byte_by_byte_ends_its_connection(serving: Callable[..., Any]) -> None:
    with serving() as place, socket.create_connection(place) as one:
        one.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nx-long: ")
        began = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - began < 5:
                time.sleep(0.05)
                one.sendall(b"x")
        assert time.monotonic() - began < 5


def test_an_answer_that_nobody_reads_ends_its_connection(serving: Callable[..., Any]) -> None:
    with serving() as place, socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        one.connect(place)
        one.sendall(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n")
        time.sleep(1)
        got = 0
        with contextlib.suppress(ConnectionError):
            while part := one.recv(65_536):
                got += len(part)
        assert got < len(LONG)


def test_an_answer_that_takes_long_and_one_that_is_read_slowly_arrive(
    serving: Callable[..., Any],
) -> None:
    with serving(still_s=1) as (host, port):
        assert httpx2.get(f"http://{host}:{port}/late").text == "ok"
        with httpx2.stream("GET", f"http://{host}:{port}/long") as answer:
            got = 0
            for part in answer.iter_bytes(1 << 20):
                got += len(part)
                time.sleep(0.3)
        assert got == len(LONG)


def test_the_oldest_connection_without_a_question_makes_room(serving: Callable[..., Any]) -> None:
    with serving(most=5, still_s=30) as place:
        asking = socket.create_connection(place)
        asking.sendall(b"GET /late HTTP/1.1\r\nhost: x\r\n\r\n")
        idle = [socket.create_connection(place) for _ in range(4)]
        half = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"
        idle[0].sendall(half)
        time.sleep(0.2)
        more = [socket.create_connection(place) for _ in range(2)]
        assert ended(idle[0])
        assert ended(idle[1])
        more[-1].sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert more[-1].recv(100).startswith(b"HTTP/1.1 200")
        assert asking.recv(100).startswith(b"HTTP/1.1 200")
        for one in (asking, *idle, *more):
            one.close()


def test_a_thousand_connections_of_one_address_keep_nobody_out(serving: Callable[..., Any]) -> None:
    with serving(still_s=30) as place:
        idle = [socket.create_connection(place) for _ in range(1_000)]
        for one in idle[900:]:
            one.sendall(b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        assert httpx2.get(f"http://{place[0]}:{place[1]}/").text == "ok"
        assert sum(ended(one) for one in idle[: 1_000 - MOST]) == 1_000 - MOST
        for one in idle:
            one.close()


Question = tuple[str, str]  # its address and its caller


def worked(turns: Turns, questions: list[Question]) -> tuple[list[Question], list[Question], int]:
    """In which order questions asked at once were worked on, which were refused, most at once."""
    order, refused = list[Question](), list[Question]()
    inside, most = 0, 0

    async def ask(address: str, caller: str) -> None:
        nonlocal inside, most
        try:
            async with turns.turn(address, caller):
                order.append((address, caller))
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0.005)
                inside -= 1
        except Busy:
            refused.append((address, caller))

    async def run() -> None:
        await asyncio.gather(*(ask(*one) for one in questions))

    anyio.run(run)
    return order, refused, most


def test_callers_of_an_address_take_turns_however_much_one_of_them_asks() -> None:
    turns = Turns(running=1)
    order, refused, most = worked(turns, [*[("a", "greedy")] * 6, ("a", "modest"), ("a", "late")])
    assert [caller for _, caller in order][:4] == ["greedy", "greedy", "modest", "late"]
    assert (len(order), refused, most) == (8, [], 1)
    assert worked(turns, [("a", "again")])[0] == [("a", "again")]


def test_names_that_a_caller_makes_up_share_the_turns_of_its_address() -> None:
    made_up = [("a", f"name {n}") for n in range(20)]
    order, _, _ = worked(Turns(running=1), [*made_up, ("b", "modest"), ("c", "late")])
    assert order[:4] == [made_up[0], made_up[1], ("b", "modest"), ("c", "late")]


@given(st.lists(st.sampled_from([("a", "x"), ("a", "y"), ("b", "x"), ("c", "z")]), max_size=30))
@example([*[("a", "x")] * 7, *[("a", "y")] * 4, *[("b", "x")] * 2])
def test_every_question_is_worked_on_or_refused_and_each_place_comes_back(
    questions: list[Question],
) -> None:
    turns = Turns(running=2, most=5)
    order, refused, most = worked(turns, questions)
    assert sorted(order + refused) == sorted(questions)
    assert len(refused) == max(0, len(questions) - 7)
    assert (most <= 2, turns.free) == (True, 2)


def test_where_too_many_wait_the_one_that_has_most_of_them_is_refused() -> None:
    many = [("a", f"name {n}") for n in range(3)] + [("a", "greedy")] * 6
    order, refused, _ = worked(Turns(running=1, most=4), [*many, ("b", "modest"), ("c", "late")])
    assert {("b", "modest"), ("c", "late")} <= set(order)
    assert {address for address, _ in refused} == {"a"}
    order, refused, _ = worked(Turns(running=1, most=3), [*many[-6:], ("a", "modest")])
    assert (set(refused), ("a", "modest") in order) == ({("a", "greedy")}, True)


def test_a_caller_that_goes_while_it_waits_takes_no_place() -> None:
    async def run() -> int:
        turns, entered = Turns(running=1, most=2), list[int]()

        async def ask(number: int) -> None:
            async with turns.turn("a", "x"):
                entered.append(number)
                await asyncio.sleep(0.02)

        tasks = [asyncio.create_task(ask(n)) for n in range(3)]
        await asyncio.sleep(0.005)
        tasks[1].cancel()
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(ask(3)))  # there is room for it again
        await asyncio.gather(*tasks, return_exceptions=True)
        assert entered == [0, 2, 3]
        return turns.free

    assert anyio.run(run) == 1


def test_the_wait_for_a_turn_is_a_part_of_the_deadline() -> None:
    async def run() -> None:
        turns = Turns(running=1)
        token = asker.set(Asker(turns, "a", "x"))
        first = asyncio.create_task(answered(lambda: time.sleep(0.4), 5))
        await asyncio.sleep(0.05)
        with pytest.raises(Late):
            await answered(lambda: None, 0.1)
        await first
        assert turns.free == 1
        asker.reset(token)

    anyio.run(run)


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


def test_a_caller_that_goes_takes_its_searches_along(
    client: httpx2.Client, service: Service
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

    schema, body = service.store.schema, b'{"query": "cache"}'
    with (
        psycopg.connect(service.store.dsn) as locker,
        psycopg.connect(service.store.dsn, autocommit=True) as watcher,
    ):
        locker.execute(f'LOCK TABLE "{schema}".chunks IN ACCESS EXCLUSIVE MODE')
        with socket.create_connection((client.base_url.host, client.base_url.port or 80)) as caller:
            head = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\n"
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            caller.sendall(head + body)
            assert until(True)
        assert until(False)
        locker.rollback()
    assert client.post("/api/search", json={"query": "cache"}).status_code == 200
