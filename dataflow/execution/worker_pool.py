"""The threads of a scheduler, shared so that no sub-graph can take them all.

A search that hangs holds its worker until its deadline. With first come, first served, a few
callers would let one hung corpus hold all workers, and the other corpora would time out.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


@dataclass(slots=True)
class Task:
    """A call for a worker; if it is ``cancelled`` before it starts, it never runs."""

    number: int
    call: Callable[[], None]
    refused: Callable[[], None]
    cancelled: bool = False


class Workers:
    """``size`` threads; a sub-graph gets one only while it holds no more than it leaves free.

    With eight, one hung corpus holds four and a second one two. Further tasks of a sub-graph wait,
    and later tasks of others overtake them; among the tasks that may start, the oldest is first.
    """

    def __init__(self, size: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._free = size
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[Task]] = {}
        self._submitted = 0
        self._closed = False

    def submit(self, subgraph: str, call: Callable[[], None], refused: Callable[[], None]) -> Task:
        """Run ``call`` on a worker.

        Args:
            subgraph: the owner of the task; a task without one ("") may take the last free worker.
            call: runs on the worker; it must not raise.
            refused: called instead if the workers are closed before it starts.

        Raises:
            RuntimeError: the workers are closed.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("the workers are closed")
            self._submitted += 1
            task = Task(self._submitted, call, refused)
            waiting = self._waiting.setdefault(subgraph, deque())
            while waiting and waiting[0].cancelled:  # if all hang, no worker would remove it
                waiting.popleft()
            waiting.append(task)
            self._start()
        return task

    def close(self) -> None:
        """Refuse waiting and new tasks; running tasks end on their own."""
        with self._lock:
            self._closed = True
            for waiting in self._waiting.values():
                for task in waiting:
                    task.refused()
            self._waiting.clear()
        self._threads.shutdown(wait=False)

    def _start(self) -> None:
        """Start every task that may; the caller holds the lock."""
        while self._free and self._waiting:
            ready = [
                (waiting[0].number, subgraph)
                for subgraph, waiting in self._waiting.items()
                if not subgraph or self._running[subgraph] < self._free
            ]
            if not ready:
                return
            _, subgraph = min(ready)
            task = self._waiting[subgraph].popleft()
            if not self._waiting[subgraph]:
                del self._waiting[subgraph]
            if task.cancelled:
                continue
            try:
                self._threads.submit(self._work, subgraph, task)
            except RuntimeError:  # at interpreter exit the pool takes no new task
                task.refused()
                continue
            self._free -= 1
            self._running[subgraph] += 1

    def _work(self, subgraph: str, task: Task) -> None:
        if not task.cancelled:
            task.call()
        with self._lock:
            self._free += 1
            self._running[subgraph] -= 1
            self._start()
