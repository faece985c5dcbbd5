"""The process of the command: Ctrl-C ends it with one line."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["query", "cache"], "interrupted"),
        (
            ["ingest", "documents", "documents.jsonl"],
            "interrupted; what was stored stays, and the same command goes on",
        ),
    ],
)
def test_who_interrupts_a_command_reads_what_became_of_it(
    home: Path, tmp_path: Path, command: list[str], said: str
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
        waiting.send_signal(signal.SIGINT)
        _, told = waiting.communicate(timeout=30)
        connection.close()
    assert (waiting.returncode, told) == (130, f"crosscorpus: {said}\n")


@pytest.mark.parametrize(
    "interruption", ["KeyboardInterrupt", "ImportError('failed') from KeyboardInterrupt()"]
)
def test_an_interruption_while_the_command_is_loaded_is_a_line_too(interruption: str) -> None:
    loading = f"""
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "dataflow.cli.app":
            raise {interruption}
sys.meta_path.insert(0, Interrupted())
from dataflow.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", loading], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "crosscorpus: interrupted\n")
