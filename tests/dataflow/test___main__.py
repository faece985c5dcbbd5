"""The process of the command: Ctrl-C and SIGTERM end it with one line."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("command", "said", "number", "code", "ended"),
    [
        (["query", "cache"], "", signal.SIGINT, 130, "interrupted"),
        (
            ["ingest", "documents", "documents.jsonl"],
            "; what was stored stays, and the same command goes on",
            *(signal.SIGTERM, 143, "terminated"),
        ),
    ],
)
def test_who_interrupts_a_command_reads_what_became_of_it(
    home: Path, tmp_path: Path, command: list[str], said: str, number: int, code: int, ended: str
) -> None:
    (tmp_path / "documents.jsonl").touch()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # a server that never answers
        dsn = f"host=127.0.0.1 port={silent.getsockname()[1]} dbname=x"
        waiting = subprocess.Popen(
            [sys.executable, "-m", "dataflow", *command],
            cwd=tmp_path,
            env={**os.environ, "CROSSCORPUS_DSN": dsn, "CROSSCORPUS_HOME": str(home)},
            stderr=subprocess.PIPE,
            text=True,
        )
        silent.settimeout(60)
        connection, _ = silent.accept()
        waiting.send_signal(number)
        _, told = waiting.communicate(timeout=30)
        connection.close()
    assert (waiting.returncode, told) == (code, f"crosscorpus: {ended}{said}\n")


def ingesting(tmp_path: Path) -> subprocess.Popen[str]:
    """A command in the middle of an ingestion that takes long."""
    one = {"corpus": "docs", "text": "a page of words " * 20}
    lines = [json.dumps({"doc_id": str(n), **one, "title": str(n)}) for n in range(20_000)]
    (tmp_path / "documents.jsonl").write_text("\n".join(lines))
    command = ["ingest", "documents", "documents.jsonl", "--json", "--model", "static"]
    running = subprocess.Popen(
        [sys.executable, "-m", "dataflow", *command],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    assert json.loads(running.stderr.readline())["stage"] == "scan"
    return running


def test_a_second_ctrl_c_changes_nothing(database_home: Path, tmp_path: Path) -> None:
    running = ingesting(tmp_path)
    for pause in (0, 0.02, 0.1, 0.3):
        time.sleep(pause)
        running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.endswith("interrupted; what was stored stays, and the same command goes on\n")
    assert "Traceback" not in said


def test_a_command_that_is_terminated_releases_the_embedded_server(
    database_home: Path, tmp_path: Path
) -> None:
    running = ingesting(tmp_path)
    running_server = database_home / "postgres" / "cluster" / "postmaster.pid"
    assert running_server.exists()
    running.terminate()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 143
    assert said.endswith("terminated; what was stored stays, and the same command goes on\n")
    deadline = time.monotonic() + 30
    while running_server.exists():
        assert time.monotonic() < deadline, "the embedded server runs on"
        time.sleep(0.1)
