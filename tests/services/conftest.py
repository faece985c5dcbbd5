"""The command with readers of services on loopback, and what a collection has of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import run_here, run_in_own_process

from operators.foundation.data_dir import data_home
from operators.postgres.store import open_store

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # the servers, and readers that a name such as python:desks:x finds

TOKEN = "tok-Zq9/xY+distinctive=="
"""A credential that no report, log or store may have."""

QUIET = {"RUNTIME__DLTHUB_TELEMETRY": "false", "AIRBYTE_OFFLINE_MODE": "1", "DO_NOT_TRACK": "1"}


@pytest.fixture(scope="session")
def environment(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("home")
    (home / "models").symlink_to(data_home() / "models")
    found = os.pathsep.join([str(HERE), *sys.path])
    own = {"CROSSCORPUS_DSN": server_dsn, "CROSSCORPUS_HOME": str(home), "PYTHONPATH": found}
    return own | QUIET | {"DESK_TOKEN": TOKEN}


@pytest.fixture
def ingest(environment: dict[str, str], tmp_path: Path) -> Callable[..., Any]:
    """Ingest by a reader or from a file; the report, after a look for the token."""

    def run(
        collection: str, what: str, *arguments: str, own_process: bool = False, **init: Any
    ) -> Any:
        load = init.pop("load", {})
        options = tmp_path / "options.yaml"
        options.write_text(yaml.safe_dump({"init": init, "load": load}))
        given = ["--options", str(options)] if what.startswith("python:") else []
        way = "from" if given else "records"
        line = ["ingest", way, what, *given, *arguments, "-C", collection]
        run_it = run_in_own_process if own_process else run_here
        done = run_it([*line, "--wait", "words", "--json"], environment)
        assert TOKEN not in done.stdout + done.stderr
        report = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        return report | {"code": done.returncode, "errors": done.stderr}

    return run


@pytest.fixture
def started(environment: dict[str, str]) -> Callable[..., Any]:
    """Start the command as a process that a test may kill."""

    @contextmanager
    def start(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "dataflow", *arguments]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, env=os.environ | environment, **silent) as process:  # type: ignore[call-overload]
            try:
                yield process
            finally:
                process.kill()

    return start


@pytest.fixture
def documents(server_dsn: str) -> Callable[..., dict[str, Any]]:
    """The documents of a collection by their ids, after a look for the token in every table."""

    def read(collection: str) -> dict[str, Any]:
        with open_store(server_dsn, collection) as store:
            tables = store.rows(
                "SELECT table_name FROM information_schema.tables"
                " WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
            )
            for (table,) in tables:
                for (row,) in store.rows(f'SELECT t::text FROM "{table}" t'):
                    assert TOKEN not in row, table
            assert len(tables) > 3
            rows = store.rows(
                "SELECT document_id, corpus, repo, max(title),"
                " string_agg(text, '' ORDER BY ordinal), max(uri), max(created_at),"
                " max(metadata::text) FROM chunks GROUP BY document_id, corpus, repo"
            )
        names = ("corpus", "repo", "title", "text", "uri", "created_at", "metadata")
        return {name: dict(zip(names, row, strict=True)) for name, *row in rows}

    return read
