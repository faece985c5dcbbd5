from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from operators.postgres.server.binaries import installed
from operators.postgres.server.embedded_server import start
from operators.postgres.server.programs import ServerError, names_a_reason, reason, run


def test_a_program_runs_without_the_environment_of_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGDATA", "/nonexistent")
    result = run(installed(), "initdb", "--version", account=None)
    assert result.returncode == 0
    assert "PostgreSQL" in result.stdout


def test_the_server_inherits_no_token_of_its_caller(
    monkeypatch: pytest.MonkeyPatch, directory: Path, machine: Any
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-the-caller")
    with start(directory) as server:
        inherited = psutil.Process(machine.postmaster(server)).environ()
    assert "token-of-the-caller" not in inherited.values()
    assert inherited["TZ"] == "UTC"


def test_a_program_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"cannot run Postgres's initdb .*: set CROSSCORPUS_DSN"):
        run(tmp_path, "initdb", account=None)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("10:00 LOG: starting\n10:01 FATAL: no room\n10:02 LOG: shut down\n", "no room"),
        ("initdb: error: no place\ninitdb: hint: another\n", "no place"),
        ("something\n\nelse\n", "else"),
        ("PANIC: no log\n10:01 FATAL:  the database system is starting up\n", "no log"),
        (
            "FATAL: log: No space left on device\n",
            "log: No space left on device: make room on its disk, then run the same command again",
        ),
        ("", "it said nothing"),
    ],
)
def test_the_reason_is_the_last_line_that_says_what_went_wrong(output: str, expected: str) -> None:
    assert reason(output) == expected
    assert names_a_reason(output) is (":" in output)
