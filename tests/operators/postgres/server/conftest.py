from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from operators.postgres.server.embedded_server import Server

ROOT = Path(__file__).parents[4]


class Machine:
    """What tests of a server look at and do on the machine that it runs on."""

    @staticmethod
    def processes_in(directory: Path) -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter(["cwd", "status", "uids", "exe"])
            if process.info["cwd"] == str(directory.resolve() / "cluster")
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    @staticmethod
    def kill_all(directory: Path) -> None:
        for process in Machine.processes_in(directory):
            with suppress(psutil.NoSuchProcess):  # they end as their parent does
                process.kill()

    @staticmethod
    def postmaster(server: Server) -> int:
        running = server.cluster.running()
        return running.pid

    @staticmethod
    def ask(dsn: str, query: str) -> object:
        with psycopg.connect(dsn) as conn:
            row = conn.execute(query.encode()).fetchone()
            return row[0]

    @staticmethod
    def program(directory: Path, then: str, **environment: str) -> subprocess.Popen[str]:
        """Another process of the user's that starts the server and goes on as `then` says."""
        text = (
            "import sys, time, os; from pathlib import Path\n"
            "from operators.postgres.server.embedded_server import start\n"
            f"server = start(Path({str(directory)!r}))\n"
            "print(server.how, server.cluster.running().pid, flush=True)\n" + then
        )
        return subprocess.Popen(
            [sys.executable, "-c", text],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    @staticmethod
    def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it never came true"
            time.sleep(0.005)


@pytest.fixture(scope="session")
def machine() -> Machine:
    return Machine()


@pytest.fixture
def directory(crosscorpus_home: Path) -> Iterator[Path]:
    """A server directory; whatever still runs there at the end is killed."""
    place = crosscorpus_home / "postgres"
    yield place
    for process in Machine.processes_in(place):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.fixture
def made(directory: Path, lay_database: Callable[[Path], None]) -> None:
    """An empty database is in the directory already."""
    lay_database(directory)
