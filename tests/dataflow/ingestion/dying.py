"""Processes that ingest and, at the point they are told, are gone by ``kill -9``.

Run as a program it starts them as it is told by lines of JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from tests.support.word_embedder import WordEmbedder


class Points:
    """The points at which a run may be killed, counted from 1; at the one that is wanted it is.

    A point is the moment before and the moment after a commit that wrote something or a statement
    that is a transaction of its own, and the moment before a file is opened to write, renamed,
    removed or made.
    """

    def __init__(self, wanted: int) -> None:
        self.wanted, self.met = wanted, list[str]()

    def reach(self, name: str) -> None:
        self.met.append(name)
        if len(self.met) == self.wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        """Have every transaction and file of this process from now on be counted."""
        import psycopg

        leave, execute = psycopg.Transaction.__exit__, psycopg.Cursor.execute
        idle = psycopg.pq.TransactionStatus.IDLE

        def leaving(transaction: Any, kind: Any, *error: Any) -> Any:
            cursor = transaction.connection.cursor()
            if kind is not None or transaction.savepoint_name:
                return leave(transaction, kind, *error)
            wrote = execute(cursor, "SELECT pg_current_xact_id_if_assigned()").fetchone()[0]
            where = _caller()
            if wrote:
                self.reach(f"before the commit of {where}")
            done = leave(transaction, kind, *error)
            if wrote:
                self.reach(f"after the commit of {where}")
            return done

        def executing(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            alone = cursor.connection.autocommit and cursor.connection.info.transaction_status
            text = query if isinstance(query, str) else str(query)
            if alone != idle or "VACUUM" not in text:
                return execute(cursor, query, *args, **kwargs)
            self.reach("before a vacuum")
            done = execute(cursor, query, *args, **kwargs)
            self.reach("after a vacuum")
            return done

        psycopg.Transaction.__exit__ = leaving  # type: ignore[method-assign]
        psycopg.Cursor.execute = executing  # type: ignore[method-assign]
        sys.addaudithook(self._file)

    def _file(self, event: str, args: tuple[Any, ...]) -> None:
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"} or (
            event == "open" and args[2] & writes and args[0] != os.devnull
        ):
            self.reach(f"{event} {args[0]}")


def points_of_each_kind(met: Sequence[str]) -> list[int]:
    """The points, from 1, of a run that ``met`` these at which a process is killed.

    The first of each name; all where ``CROSSCORPUS_TEST_EXAMPLES`` is set, as ``make test-kills``
    does.
    """
    if "CROSSCORPUS_TEST_EXAMPLES" in os.environ:
        return list(range(1, len(met) + 1))
    return sorted({name: point for point, name in reversed([*enumerate(met, 1)])}.values())


def _caller() -> str:
    """The function of ours that a transaction belongs to."""
    frame = sys._getframe(2)
    passed = {"store.py", "connection.py", "contextlib.py", "dying.py", "migrate.py"}
    while frame.f_back is not None:
        name = os.path.basename(frame.f_code.co_filename)
        if name not in passed and "psycopg" not in frame.f_code.co_filename:
            return f"{name}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"


def run(dsn: str, collection: str, source: str) -> None:
    """Bring a collection to ``source``."""
    from dataflow.ingestion import vectors
    from dataflow.ingestion.loop import ingest
    from operators.postgres.store import open_store
    from operators.sources.jsonl import documents_source

    vectors.CHUNKS_AT_ONCE = vectors.MOST_AT_ONCE = 4
    with open_store(dsn, collection, create=True, max_size=2) as store:
        ingest(
            store,
            WordEmbedder(),
            documents_source(source),
            prune=True,
            batch_documents=5,
            allow_mass_delete=True,
        )


def serve() -> None:
    """Fork a process for each line of JSON and answer how it ended and which points it met.

    The imports are done once; the processes are the kernel's own, and so is their death.
    """
    from dataflow.ingestion.graph_builder import build_ingestion_graph

    build_ingestion_graph()
    for line in sys.stdin:
        order = json.loads(line)
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            before = set(sys.modules)
            points = Points(order.pop("point"))
            try:
                points.watch()
                run(**order)
            except BaseException as error:
                points.met.append(f"failed: {error!r}")
            told = {"met": points.met, "imported": sorted(set(sys.modules) - before)}
            os.write(tell, json.dumps(told).encode())
            os._exit(0)
        os.close(tell)
        with os.fdopen(told, "rb") as answers:
            report = json.loads(answers.read() or b'{"met": null, "imported": []}')
        status = os.waitpid(child, 0)[1]
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        for name in report["imported"]:
            importlib.import_module(name)
        print(json.dumps({"killed": killed, "met": report["met"]}), flush=True)


if __name__ == "__main__":
    serve()
