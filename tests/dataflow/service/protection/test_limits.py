"""Turns, deadlines, and questions whose caller has gone."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import anyio
import httpx2
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.service.protection.limits import Asker, Busy, Late, Turns, answered, asker
from dataflow.service.tools import Service
from operators.foundation.cancellation import Cancelled, check
from operators.postgres.search.batches import SearchTimeout

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
