"""Connections that stand still, and more of them than an address may have; real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
import uvicorn

from dataflow.service.protection.connections import MOST, Connection
from dataflow.service.running import configured

LONG = b"x" * (8 << 20)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers /long with eight megabytes, /late after a second, all else at once."""
    if scope["type"] != "http":
        return
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


def test_a_connection_serves_one_request_after_the_other(serving: Callable[..., Any]) -> None:
    with serving() as (host, port), httpx2.Client(base_url=f"http://{host}:{port}") as client:
        for _ in range(5):
            time.sleep(0.1)
            assert client.get("/").text == "ok"


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


def test_a_thousand_connections_of_one_address_keep_nobody_out(
    serving: Callable[..., Any],
) -> None:
    with serving(still_s=30) as place:
        idle = [socket.create_connection(place) for _ in range(1_000)]
        for one in idle[900:]:
            one.sendall(b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        assert httpx2.get(f"http://{place[0]}:{place[1]}/").text == "ok"
        assert sum(ended(one) for one in idle[: 1_000 - MOST]) == 1_000 - MOST
        for one in idle:
            one.close()
