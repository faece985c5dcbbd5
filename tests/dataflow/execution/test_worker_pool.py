"""The workers of a scheduler: who may hold how many of them."""

import gc
import threading
import weakref

import pytest

from dataflow.execution.worker_pool import Workers

WAIT_S = 10.0


class Held:
    """Tasks that say when they run and hold their worker until ``let_go``."""

    def __init__(self):
        self.running = threading.Semaphore(0)
        self.let_go = threading.Event()
        self.ran = []

    def task(self, name):
        def call():
            self.ran.append(name)
            self.running.release()
            self.let_go.wait(WAIT_S)

        return call

    def wait_for(self, count):
        return all(self.running.acquire(timeout=WAIT_S) for _ in range(count))


@pytest.fixture
def held():
    made = Held()
    yield made
    made.let_go.set()


@pytest.fixture
def submit(held):
    """Submits held tasks of a sub-graph to the workers of one test."""
    made = []

    def submit_(subgraph, count=1, *, size=8, refused=lambda: None):
        if not made:
            made.append(Workers(size, "test"))
        return [made[0].submit(subgraph, held.task(subgraph), refused) for _ in range(count)]

    submit_.made = made
    yield submit_
    for workers in made:
        workers.close()


def test_a_subgraph_that_hangs_leaves_half_of_the_workers_to_the_others(held, submit):
    submit("wiki", 100)
    submit("code")
    submit("docs")
    assert held.wait_for(6)
    assert sorted(held.ran) == ["code", "docs", *["wiki"] * 4]


def test_a_second_one_that_hangs_leaves_workers_too(held, submit):
    submit("wiki", 100)
    submit("review", 100)
    submit("code", 100)
    assert held.wait_for(7)
    assert sorted(held.ran) == ["code", "review", "review", *["wiki"] * 4]


def test_what_is_of_no_subgraph_may_take_all(held, submit):
    submit("", 8)
    assert held.wait_for(8)


def test_a_single_worker_still_works(held, submit):
    submit("wiki", size=1)
    assert held.wait_for(1)


def test_what_waits_starts_in_its_order_when_a_worker_is_free(held, submit):
    submit("wiki", 2, size=2)
    submit("", 1)
    submit("code", 1)
    submit("", 1)
    assert held.wait_for(2)
    assert held.ran == ["wiki", ""]
    held.let_go.set()
    assert held.wait_for(3)
    assert sorted(held.ran[2:]) == ["", "code", "wiki"]


def test_what_is_cancelled_before_it_starts_never_does_and_is_let_go(held, submit):
    (_, waiting) = submit("wiki", 2, size=2)
    assert held.wait_for(1)
    waiting.cancelled = True
    gone = weakref.ref(waiting.call)
    del waiting
    submit("wiki")
    gc.collect()
    assert gone() is None
    held.let_go.set()
    assert held.wait_for(1)
    assert held.ran == ["wiki", "wiki"]


def test_closing_refuses_what_waits_and_what_comes(held, submit):
    refused = []
    submit("wiki", 3, size=2, refused=lambda: refused.append("wiki"))
    assert held.wait_for(1)
    submit.made[0].close()
    assert refused == ["wiki", "wiki"]
    with pytest.raises(RuntimeError, match="closed"):
        submit("wiki")
