"""The threads of a scheduler, shared so that no sub-graph can take them all.

A search that hangs holds its worker until its deadline. If workers went to whoever comes first,
a few callers would let one hung corpus hold them all, and the other corpora would time out.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


@dataclass(slots=True)
class Task:
    """What a worker runs; one that is ``cancelled`` before it starts never does."""

    number: int
    call: Callable[[], None]
    refused: Callable[[], None]
    cancelled: bool = False


class Workers:
    """``size`` threads; a sub-graph never takes more than it leaves free.

    With eight, one hung corpus holds four and a second one two. What a sub-graph asks beyond that
    waits, while later tasks of others pass it; among those that may start the oldest does.
    """

    def __init__(self, size: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._free = size
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[Task]] = {}
        self._submitted = 0
        self._closed = False

    def submit(self, subgraph: str, call: Callable[[], None], refused: Callable[[], None]) -> Task:
        """Have ``call`` run on a worker.

        Args:
            subgraph: whose task it is; a task of none ("") may take the last free worker.
            call: what runs; it must not raise.
            refused: called instead when the workers are closed before it starts.

        Raises:
            RuntimeError: the workers are closed.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("the workers are closed")
            self._submitted += 1
            task = Task(self._submitted, call, refused)
            waiting = self._waiting.setdefault(subgraph, deque())
            while waiting and waiting[0].cancelled:  # where all hang, nothing else takes them away
                waiting.popleft()
            waiting.append(task)
            self._start()
        return task

    def close(self) -> None:
        """Refuse what waits and what comes; what runs now ends on its own."""
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
                if not subgraph or self._held[subgraph] < self._free
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
            except RuntimeError:  # the interpreter ends, and threads take nothing new
                task.refused()
                continue
            self._free -= 1
            self._held[subgraph] += 1

    def _work(self, subgraph: str, task: Task) -> None:
        if not task.cancelled:
            task.call()
        with self._lock:
            self._free += 1
            self._held[subgraph] -= 1
            self._start()
