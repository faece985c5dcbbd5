from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from operators.postgres.server.embedded_server import start
from operators.postgres.server.programs import ServerError


def test_is_created_once_then_joined_and_stopped_by_the_last_user(
    machine: Any, directory: Path
) -> None:
    first = start(directory)
    second = start(directory)
    assert (first.how, second.how) == ("created", "attached")
    assert first.release() is False
    assert machine.ask(second.dsn, "SELECT 1") == 1
    assert second.release() is True
    assert machine.processes_in(directory) == []
    assert second.release() is False
    with start(directory) as third:
        assert third.how == "started"


def test_outlives_a_killed_user_process_and_is_stopped_by_the_next(
    machine: Any, directory: Path
) -> None:
    user = machine.program(directory, "time.sleep(60)")
    assert user.stdout is not None
    how, pid = user.stdout.readline().split()
    user.kill()
    user.wait()
    with start(directory) as server:
        assert (how, server.how) == ("created", "attached")
        assert machine.postmaster(server) == int(pid)
    assert machine.processes_in(directory) == []


def test_is_not_stopped_while_another_process_uses_it(machine: Any, directory: Path) -> None:
    user = machine.program(directory, "sys.stdin.read()")
    assert user.stdout is not None
    user.stdout.readline()
    assert start(directory).release() is False
    assert machine.processes_in(directory) != []
    user.communicate("")
    # The other process ended without a word, and still took the server with it.
    assert machine.processes_in(directory) == []


def test_processes_that_start_at_once_share_one_server(machine: Any, directory: Path) -> None:
    users = [machine.program(directory, "sys.stdin.read()") for _ in range(3)]
    said = [user.stdout.readline().split() for user in users if user.stdout is not None]
    assert sorted(how for how, _ in said) == ["attached", "attached", "created"]
    assert len({pid for _, pid in said}) == 1
    for user in users:
        user.communicate("")
    assert machine.processes_in(directory) == []


def test_is_started_again_until_it_is_released(machine: Any, directory: Path) -> None:
    with start(directory) as server:
        assert server.cluster.stop() is True
        assert machine.processes_in(directory) == []
        server.ensure()
        assert machine.ask(server.dsn, "SELECT 1") == 1
    with pytest.raises(ServerError, match="was released"):
        server.ensure()
