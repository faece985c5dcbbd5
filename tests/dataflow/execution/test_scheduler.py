"""The scheduler, on small Hamilton graphs whose nodes sleep, fail, hang and nest."""

import contextvars
import gc
import itertools
import threading
import time
import types
import weakref

import pytest
from hamilton import ad_hoc_utils, driver
from hamilton.function_modifiers import tag

from dataflow.execution.scheduler import NodeTimeout, Scheduler
from operators.errors import CrosscorpusError
from operators.foundation.cancellation import Cancelled, Switch, waiting


def graph(*functions, scheduler=None, adapters=(), **options):
    module = ad_hoc_utils.create_temporary_module(*functions, module_name=f"g{time.time_ns()}")
    built = driver.Builder().with_modules(module).with_adapters(*adapters).build()
    built.graph_executor = scheduler or Scheduler(adapter=built.adapter, **options)
    return built


def branches(count, wait):
    """``count`` I/O nodes that wait, and a node that adds them up."""

    def make(number):
        def branch(seed: int) -> int:
            wait()
            return seed + number

        branch.__name__ = f"branch_{number}"
        return tag(io="test")(branch)

    namespace = {}
    names = [f"branch_{n}" for n in range(count)]
    arguments = ", ".join(f"{n}: int" for n in names)
    exec(f"def total({arguments}) -> int:\n    return {' + '.join(names)}", namespace)
    return [*(make(n) for n in range(count)), namespace["total"]]


def test_independent_searches_run_at_the_same_time():
    all_run = threading.Barrier(6, timeout=60)  # broken unless all are there at the same time
    built = graph(*branches(6, all_run.wait), workers=6)
    assert built.execute(["total"], inputs={"seed": 1}) == {"total": 21}


def test_only_nodes_tagged_io_leave_the_calling_thread():
    @tag(io="test")
    def fetched(seed: int) -> int:
        return threading.get_ident()

    def computed(fetched: int) -> int:
        return threading.get_ident()

    out = graph(fetched, computed).execute(["fetched", "computed"], inputs={"seed": 1})
    assert out["computed"] == threading.get_ident() != out["fetched"]


def test_contextvars_reach_the_workers():
    who = contextvars.ContextVar("who")

    @tag(io="test")
    def caller(seed: int) -> str:
        return who.get()

    who.set("anna")
    assert graph(caller).execute(["caller"], inputs={"seed": 1}) == {"caller": "anna"}


def test_a_failing_branch_surfaces_before_a_slow_one_ends():
    @tag(io="test")
    def slow(seed: int) -> int:
        time.sleep(0.5)
        return 1

    @tag(io="test")
    def bad(seed: int) -> int:
        raise RuntimeError("boom")

    def joined(slow: int, bad: int) -> int:
        return 0

    began = time.perf_counter()
    with pytest.raises(RuntimeError, match="boom") as error:
        graph(slow, bad, joined).execute(["joined"], inputs={"seed": 1})
    assert time.perf_counter() - began < 0.4
    assert error.value.__notes__ == ["in node bad"]


def test_what_is_queued_when_a_run_fails_never_starts():
    started = []

    @tag(io="test")
    def bad(seed: int) -> int:
        time.sleep(0.05)
        raise RuntimeError("boom")

    @tag(io="test")
    def queued(seed: int) -> int:
        started.append(1)
        return 1

    def joined(bad: int, queued: int) -> int:
        return 0

    held = Scheduler(workers=1)
    built = graph(bad, queued, joined, scheduler=held)
    with pytest.raises(RuntimeError):
        built.execute(["joined"], inputs={"seed": 1})
    held.close()
    time.sleep(0.1)  # for a task that a worker took in spite of all
    assert started == []


def hung(seed: int) -> int:
    time.sleep(0.4)
    return 1


def after(hung: int) -> int:
    return hung + 10


def test_a_node_that_passes_its_deadline_is_an_error_that_names_it():
    let_go = threading.Event()

    def hung(seed: int) -> int:
        assert let_go.wait(60)
        return 1

    built = graph(tag(io="test")(hung), after, limit=lambda node, arguments: 0.05)
    with pytest.raises(NodeTimeout, match=r"hung had no result after 0\.05 s"):
        built.execute(["after"], inputs={"seed": 1})
    let_go.set()  # the error came while it still ran


def test_the_fallback_stands_in_for_a_node_tagged_fail_open_and_the_late_result_is_ignored():
    seen = []

    def fallback(node, error, seconds):
        seen.append((node.name, type(error)))
        return 5

    open_ = tag(io="test", fail_open="yes")(_copy(hung))
    built = graph(open_, after, limit=lambda node, arguments: 0.05, fallback=fallback)
    assert built.execute(["after"], inputs={"seed": 1}) == {"after": 15}
    time.sleep(0.5)
    assert seen == [("hung", NodeTimeout)]


def test_a_node_without_the_tag_gets_no_fallback():
    @tag(io="test")
    def bad(seed: int) -> int:
        raise KeyError("lost")

    with pytest.raises(KeyError):
        graph(bad, fallback=lambda node, error, seconds: 1).execute(["bad"], inputs={"seed": 1})


def test_node_events_tell_when_each_node_began_and_ended_and_its_error():
    @tag(io="test", fail_open="yes")
    def broken(seed: int) -> int:
        raise ValueError("no")

    def last(broken: int, hung: int) -> int:
        return broken + hung

    events, began = [], time.perf_counter()
    built = graph(broken, tag(io="test")(_copy(hung)), last, fallback=lambda *given: 0)
    built.execute(["last"], inputs={"seed": 1, "node_events": events})
    by_name = {name: one for name, *one in events}
    assert [name for name, *_ in events] == ["broken", "hung", "last"]
    assert [type(error) for *_, error in events] == [ValueError, type(None), type(None)]
    assert all(began <= start <= end for start, end, _ in by_name.values())
    assert by_name["hung"][1] - by_name["hung"][0] >= 0.39
    assert by_name["last"][0] >= by_name["hung"][1]


def test_a_node_may_execute_the_same_graph_with_one_worker():
    held = Scheduler(workers=1)

    @tag(io="test")
    def leaf(seed: int) -> int:
        return seed + 1

    @tag(io="test")
    def outer(seed: int) -> int:
        return built.execute(["leaf"], inputs={"seed": seed})["leaf"] * 10

    built = graph(leaf, outer, scheduler=held)
    assert built.execute(["outer", "leaf"], inputs={"seed": 1}) == {"outer": 20, "leaf": 2}


def test_a_long_chain_behind_a_search_does_not_recurse():
    names = [f"n{i}" for i in range(3000)]
    namespace = {}
    exec(
        "def n0(seed: int) -> int:\n    return seed\n"
        + "\n".join(
            f"def {b}({a}: int) -> int:\n    return {a} + 1" for a, b in itertools.pairwise(names)
        ),
        namespace,
    )
    tag(io="test")(namespace["n0"])
    built = graph(*(namespace[n] for n in names))
    assert built.execute([names[-1]], inputs={"seed": 1}) == {names[-1]: 3000}


def test_overrides_cut_what_is_upstream():
    @tag(io="test")
    def hung(seed: int) -> int:
        raise AssertionError("it is not asked for")

    built = graph(hung, after)
    assert built.execute(["after"], overrides={"hung": 2}) == {"after": 12}


def test_an_overridden_output_and_an_input_come_back_as_given():
    built = graph(_copy(hung), after)
    out = built.execute(["hung", "seed"], inputs={"seed": 1}, overrides={"hung": 2})
    assert out == {"hung": 2, "seed": 1}


def test_closing_during_a_call_ends_it_instead_of_leaving_it_waiting():
    built = graph(*branches(3, lambda: time.sleep(0.2)), workers=1)
    threading.Timer(0.05, built.graph_executor.close).start()
    with pytest.raises(CrosscorpusError, match="closed"):
        built.execute(["total"], inputs={"seed": 1})


def _copy(function):
    """A fresh function, since tags are kept on the function itself."""
    made = types.FunctionType(function.__code__, globals(), function.__name__)
    made.__annotations__ = function.__annotations__
    return made


def test_without_workers_the_calling_thread_runs_every_node():
    @tag(io="test")
    def fetched(seed: int) -> int:
        return threading.get_ident()

    out = graph(fetched, workers=0).execute(["fetched"], inputs={"seed": 1})
    assert out == {"fetched": threading.get_ident()}


class Batch(list):
    """A list that can be watched."""


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_run_of_the_graph_leaves_none_of_its_values_behind():
    made = []

    def watched(batch: list) -> Batch:
        value = Batch(batch)
        made.append(weakref.ref(value))
        return value

    def asked(watched: Batch) -> int:
        return len(watched)

    module = ad_hoc_utils.create_temporary_module(watched, asked, module_name="watched")
    built = driver.Builder().with_modules(module).build()
    built.graph_executor = Scheduler(0, adapter=built.adapter)
    handed = Batch([1, 2])
    assert built.execute(["asked"], inputs={"batch": handed}) == {"asked": 2}
    made.append(weakref.ref(handed))
    del handed
    assert [ref() for ref in made] == [None, None]


def test_a_run_for_which_nobody_waits_starts_no_further_node():
    switch, ran = Switch(), []

    @tag(io="test")
    def first(seed: int) -> int:
        switch.throw()
        return seed

    def second(first: int) -> int:
        ran.append(first)
        return first

    built = graph(first, second)
    context = contextvars.copy_context()
    context.run(waiting.set, switch)
    with pytest.raises(Cancelled):
        context.run(built.execute, ["second"], inputs={"seed": 1})
    assert ran == []
    assert built.execute(["second"], inputs={"seed": 1}) == {"second": 1}
