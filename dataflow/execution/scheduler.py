"""Runs a Hamilton graph: a node starts when its inputs are ready, I/O on a pool, the rest inline.

Hamilton's FutureAdapter is as fast with over two workers per branch (``benchmarks scheduler``).
It lacks a deadline per node, branches that fail open, and a what-if that runs only the nodes that a
change affects. Its workers also block on each other's results, so that a nested call deadlocks.
Here the order of the steps is computed once for each set of names. Only the calling thread touches
a run's state: it starts I/O on the pool, computes everything else itself and waits for the next
result or the next deadline.

It knows no node by name and runs any Hamilton driver:
``driver.graph_executor = Scheduler(workers=6)``. A graph controls it by four conventions:

- The tag ``io``, of any value: the node runs on the pool and may have a deadline.
- The tag ``fail_open``, of any value: if the node fails or times out, ``fallback`` gives its
  value and the run continues. Without a fallback, or without the tag, the error ends the run.
- The run-time input ``node_events``: a list that receives a ``NodeEvent`` of each node.
- The run-time input ``timings``: a mutable mapping that receives the milliseconds of each node
  by name. A node may read it like any other input; :mod:`dataflow.execution.memo` ignores it
  when it compares the inputs of a node.
"""

import contextlib
import contextvars
import os
import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from hamilton.driver import GraphExecutor
from hamilton.execution.graph_functions import execute_lifecycle_for_node
from hamilton.graph import FunctionGraph
from hamilton.lifecycle.base import LifecycleAdapterSet
from hamilton.node import Node

from dataflow.execution.memo import Memo, Record
from dataflow.execution.plan import Plan, Step, make_plan
from dataflow.execution.worker_pool import Task, Workers
from operators.errors import CrosscorpusError
from operators.foundation.cancellation import check

Limit = Callable[[Node, Mapping[str, Any]], float | None]
Fallback = Callable[[Node, Exception, float], Any]
NodeEvent = tuple[str, float, float, BaseException | None]  # name; start, end in s; error

_inside: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "schedulers whose worker this is", default=frozenset()
)


class NodeTimeout(CrosscorpusError, TimeoutError):
    """A node had no result at its deadline; a later result is ignored."""


class Scheduler(GraphExecutor):
    """Executes the nodes of a Hamilton graph as soon as their inputs are ready.

    Nodes tagged ``io`` run on a pool of ``workers`` threads, all others on the calling thread.
    Contextvars reach the workers. The first error is raised at once and cancels what is queued.
    Several threads may execute at the same time, and a node may execute a graph of its own.

    Args:
        workers: threads for ``io`` nodes, shared by all runs; the nodes of one sub-graph, over all
            runs, hold at most half of them (see
            :class:`dataflow.execution.worker_pool.Workers`). 0: the calling thread runs all.
        limit: timeout in seconds of an ``io`` node with these arguments, from the moment it is
            ready (time in the queue counts); None: no limit.
        fallback: gives the value of a node tagged ``fail_open`` that failed or timed out, from the
            node, the error and the elapsed seconds; it may raise instead.
        adapter: Hamilton's lifecycle hooks; without any, nodes are called directly.
    """

    def __init__(
        self,
        workers: int = 8,
        *,
        limit: Limit | None = None,
        fallback: Fallback | None = None,
        adapter: LifecycleAdapterSet | None = None,
    ) -> None:
        self.workers = workers
        self.limit = limit
        self.fallback = fallback
        self.adapter = adapter or LifecycleAdapterSet()
        self.hooked = any(
            self.adapter.does_hook(hook, is_async=False)
            for hook in ("pre_node_execute", "post_node_execute")
        ) or self.adapter.does_method("do_node_execute", is_async=False)
        self._pool = Workers(max(workers, 1), "scheduler")
        self._process = os.getpid()
        self._plans: WeakKeyDictionary[FunctionGraph, dict[Any, Plan]] = WeakKeyDictionary()

    def validate(self, nodes_to_execute: list[Node]) -> None:
        """Accept every graph of ordinary nodes; Hamilton calls this before each run."""

    def execute(
        self,
        fg: FunctionGraph,
        final_vars: list[str],
        overrides: dict[str, Any],
        inputs: dict[str, Any],
        run_id: str,
        memo: Memo | None = None,
    ) -> dict[str, Any]:
        """Compute ``final_vars``; see :class:`hamilton.driver.GraphExecutor`.

        With a ``memo``, every node is recorded, and a node that is unchanged since an earlier
        run, the same function over the same values, does not run again.

        Raises:
            NodeTimeout: a node that is not ``fail_open`` passed its deadline.
            Cancelled: the caller no longer waits for the run.
            CrosscorpusError: the scheduler is closed, or was created before a fork of the process.
        """
        if os.getpid() != self._process:  # after a fork the threads of the pool are missing
            raise CrosscorpusError("the driver is of another process: build one after the fork")
        plans = self._plans.setdefault(fg, {})
        key = (tuple(final_vars), frozenset(overrides), frozenset(inputs))
        plan = plans.get(key)
        if plan is None:
            plan = make_plan(fg, final_vars, overrides, inputs)
            if len(plans) >= 256:
                plans.clear()
            plans[key] = plan
        values = {**fg.config, **plan.constants, **inputs, **overrides}
        with self._threads() as pool:
            _Run(self, plan, values, run_id, pool, memo).finish()
        return {name: values.get(name) for name in final_vars}

    @contextlib.contextmanager
    def _threads(self) -> Iterator[Workers]:
        """The shared pool; a separate pool for a run inside one of its workers.

        A nested run that waited for the shared pool could wait for its own parent.
        """
        if id(self) not in _inside.get():
            yield self._pool
            return
        pool = Workers(self.workers, "scheduler-nested")
        try:
            yield pool
        finally:
            pool.close()

    def close(self) -> None:
        """Cancel what is queued and refuse further runs; running nodes end on their own."""
        self._pool.close()


class _Run:
    """The state of one execution; only the thread that called ``execute`` touches it."""

    def __init__(
        self,
        scheduler: Scheduler,
        plan: Plan,
        values: dict[str, Any],
        run_id: str,
        pool: Workers,
        memo: Memo | None,
    ) -> None:
        self.scheduler, self.plan, self.values, self.run_id = scheduler, plan, values, run_id
        self.pool, self.memo = pool, memo
        self.read: dict[int, dict[str, Any]] = {}  # the inputs of each step, for the memo
        self.recalled: dict[int, Record] = {}
        record = values.get("timings")
        self.timings = record if isinstance(record, MutableMapping) else {}
        self.node_events: list[NodeEvent] | None = values.get("node_events")
        self.uses = dict(plan.uses)
        self.waits = [step.waits for step in plan.steps]
        self.left = len(plan.steps)
        self.failed = False
        self.inline: deque[int] = deque()
        self.running: dict[int, tuple[Task, float, float | None]] = {}
        self.events: queue.SimpleQueue[tuple[int, Any, BaseException | None, float, float]]
        self.events = queue.SimpleQueue()

    def finish(self) -> None:
        """Run every step, or raise the first error."""
        try:
            for number, waits in enumerate(self.waits):
                if waits == 0:
                    self._start(number)
            while self.left:
                check()
                if self.running:
                    self._receive(block=not self.inline)
                if self.inline:
                    self._compute(self.inline.popleft())
                elif self.left and not self.running:
                    raise CrosscorpusError("the graph has a cycle: no node is ready")
        finally:
            for task, _, _ in self.running.values():
                task.cancelled = True

    def _start(self, number: int) -> None:
        step = self.plan.steps[number]
        if not (step.io and self.scheduler.workers):
            self.inline.append(number)
            return
        arguments = self._arguments(step)
        if self._recall(number, arguments):
            self.inline.append(number)
            return
        context = contextvars.copy_context()
        context.run(_inside.set, _inside.get() | {id(self.scheduler)})
        now = perf_counter()
        try:
            work = partial(context.run, self._work, number, arguments)
            refused = partial(self._refused, number, now)
            task = self.pool.submit(step.name.rpartition(".")[0], work, refused)
        except RuntimeError as closed:
            raise CrosscorpusError("the driver is closed: build another one") from closed
        limit = self.scheduler.limit and self.scheduler.limit(step.node, arguments)
        self.running[number] = (task, now, None if limit is None else now + limit)

    def _work(self, number: int, arguments: dict[str, Any]) -> None:
        """On a worker: call the node and report; only ``failed`` is touched here."""
        if self.failed:
            return
        step, value, error, began = self.plan.steps[number], None, None, perf_counter()
        try:
            value = self._call(step.node, arguments)
        except BaseException as raised:  # a worker must always report, or the run would hang
            error = raised
            self.failed = not step.fail_open  # before this thread takes what is queued
        self.events.put((number, value, error, began, perf_counter()))

    def _refused(self, number: int, began: float) -> None:
        closed = CrosscorpusError("the driver was closed during this call")
        self.events.put((number, None, closed, began, perf_counter()))

    def _compute(self, number: int) -> None:
        step, value, error, began = self.plan.steps[number], None, None, perf_counter()
        if number in self.recalled or self._recall(number, arguments := self._arguments(step)):
            self._finished(step, self.recalled[number].value)
            return
        try:
            value = self._call(step.node, arguments)
        except Exception as raised:
            error = raised
        self._settle(number, value, error, began, perf_counter())

    def _recall(self, number: int, arguments: dict[str, Any]) -> bool:
        """Whether the memo has the value of the step for ``arguments``."""
        if self.memo is None:
            return False
        self.read[number] = arguments
        record = self.memo.recall(self.plan.steps[number].node, arguments)
        if record is not None:
            self.recalled[number] = record
        return record is not None

    def _receive(self, *, block: bool) -> None:
        """Take the results that arrived; with ``block``, wait for a result or a deadline."""
        due = min((end for _, _, end in self.running.values() if end is not None), default=None)
        try:
            while self.running:
                wait = None if due is None else max(due - perf_counter(), 0.0)
                event = self.events.get(block, wait) if block else self.events.get_nowait()
                block = False
                self._take(*event)
        except queue.Empty:
            pass
        now = perf_counter()
        if due is not None and due <= now:
            for number, (_, began, end) in list(self.running.items()):
                if end is not None and end <= now:
                    self._take(number, None, None, began, now)

    def _take(
        self, number: int, value: Any, error: BaseException | None, began: float, ended: float
    ) -> None:
        entry = self.running.pop(number, None)
        if entry is None:  # late: its deadline has passed
            return
        task, ready, end = entry
        if end is not None and ended >= end:
            task.cancelled = True
            name = self.plan.steps[number].name
            error = NodeTimeout(f"{name} had no result after {end - ready:.3g} s, its deadline")
        self._settle(number, value, error, began, ended)

    def _settle(
        self, number: int, value: Any, error: BaseException | None, began: float, ended: float
    ) -> None:
        step, seconds = self.plan.steps[number], ended - began
        self.timings[step.name] = seconds * 1000
        if self.node_events is not None:
            self.node_events.append((step.name, began, ended, error))
        if error is not None:
            fallback = self.scheduler.fallback
            if not (step.fail_open and fallback and isinstance(error, Exception)):
                error.add_note(f"in node {step.name}")
                raise error
            value = fallback(step.node, error, seconds)
        if self.memo is not None:
            self.memo.keep(step.node, self.read[number], value)
        self._finished(step, value)

    def _finished(self, step: Step, value: Any) -> None:
        self.values[step.name] = value
        self.left -= 1
        for follower in step.followers:
            self.waits[follower] -= 1
            if self.waits[follower] == 0:
                self._start(follower)

    def _arguments(self, step: Step) -> dict[str, Any]:
        """The step's inputs; a value that no other step needs is released."""
        arguments = {}
        for name in step.needs:
            self.uses[name] -= 1
            arguments[name] = self.values[name] if self.uses[name] else self.values.pop(name)
        return arguments

    def _call(self, node: Node, arguments: dict[str, Any]) -> Any:
        if not self.scheduler.hooked:
            return node.callable(**arguments)
        return execute_lifecycle_for_node(
            __node_=node,
            __adapter=self.scheduler.adapter,
            __run_id=self.run_id,
            __task_id=None,
            **arguments,
        )
