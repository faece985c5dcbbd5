from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from operators.postgres.server import cluster
from operators.postgres.server.embedded_server import ServerError, start

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that nobody can reach are ended after a moment, not after seconds."""
    monkeypatch.setattr(cluster, "GRACE_S", 0.3)
    monkeypatch.setattr(cluster, "YOUNG_S", 0.3)


class Writer:
    """Commits rows one by one in a thread, and knows which were acknowledged."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.acknowledged = 0
        with psycopg.connect(dsn) as conn:
            conn.execute("CREATE TABLE kept (n int PRIMARY KEY)")
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def _write(self) -> None:
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(self.dsn, autocommit=True) as conn,
        ):
            while True:
                conn.execute("INSERT INTO kept VALUES (%s)", [self.acknowledged])
                self.acknowledged += 1

    def all_kept(self) -> None:
        self.thread.join(20)
        with psycopg.connect(self.dsn) as conn:
            kept = conn.execute("SELECT count(*) FROM kept WHERE n < %s", [self.acknowledged])
            assert self.acknowledged > 0
            assert kept.fetchone() == (self.acknowledged,)


@as_root
def test_never_runs_as_root_and_opens_no_directory(machine: Any, directory: Path) -> None:
    before = {p: p.stat().st_mode for p in directory.parents}
    with start(directory) as server:
        uids = {process.info["uids"].effective for process in machine.processes_in(directory)}
        assert 0 not in uids
        assert uids == {server.cluster.data.stat().st_uid}
    assert {p: p.stat().st_mode for p in directory.parents} == before


@as_root
def test_names_the_directory_that_is_closed_to_its_account(crosscorpus_home: Path) -> None:
    closed = crosscorpus_home / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ServerError, match=rf"may not enter {closed}: set CROSSCORPUS_HOME"):
        start(closed / "postgres")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    assert list(closed.iterdir()) == []


@as_root
def test_as_root_serves_an_ordinary_users_database_as_that_user(
    machine: Any, directory: Path
) -> None:
    start(directory).release()
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, 54321, 54321)
    directory.chmod(0o700)
    with start(directory):
        assert {process.info["uids"].effective for process in machine.processes_in(directory)} == {
            54321
        }
    assert {path.stat().st_uid for path in directory.rglob("*")} == {54321}


@as_root
def test_follows_no_link_laid_out_in_its_accounts_directory(directory: Path) -> None:
    start(directory).release()
    victim = directory.parent / "victim"
    victim.write_text("untouched")
    (directory / "cluster" / "postgresql.conf.new").symlink_to(victim)
    start(directory).release()
    assert victim.read_text() == "untouched"
    assert victim.stat().st_uid == 0


@pytest.mark.usefixtures("made")
def test_stops_though_it_is_asked_while_it_recovers_from_a_crash(
    machine: Any, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ORDERLY_S", 1.0)
    server = start(directory)
    with psycopg.connect(server.dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE kept AS SELECT generate_series(1, 20000) AS n")
        os.kill(conn.info.backend_pid, signal.SIGKILL)
        written = server.cluster.logs.glob
        machine.wait_until(lambda: any("reinitializing" in p.read_text() for p in written("*.log")))
    assert server.release()
    assert not machine.processes_in(directory)
    with start(directory) as server:
        assert machine.ask(server.dsn, "SELECT count(*) FROM kept") == 20_000


@pytest.mark.usefixtures("made")
def test_loses_no_commit_when_every_process_of_it_is_killed_at_once(
    machine: Any, directory: Path
) -> None:
    with start(directory) as server:
        writer = Writer(server.dsn)
        machine.wait_until(lambda: writer.acknowledged > 50)
        machine.kill_all(directory)
        with start(directory):
            writer.all_kept()


def test_redoes_a_creation_that_was_interrupted(machine: Any, directory: Path) -> None:
    user = machine.program(directory, "time.sleep(60)")
    machine.wait_until(lambda: (directory / "cluster.new/base/5").exists())
    user.kill()
    user.wait()
    with start(directory) as server:
        assert machine.ask(server.dsn, "SELECT count(*) > 400 FROM pg_class") is True
    assert not (directory / "cluster.new").exists()


def test_sets_a_half_made_database_aside_and_makes_a_new_one(directory: Path) -> None:
    half = directory / "cluster"
    half.mkdir(parents=True)
    directory.chmod(0o711)
    (half / "PG_VERSION").write_text("18\n")
    with start(directory) as server:
        assert server.how == "created"
    assert [(p / "PG_VERSION").read_text() for p in directory.glob("cluster.broken-*")] == ["18\n"]


@pytest.mark.usefixtures("made")
def test_believes_no_process_number_in_a_stale_lock_file(machine: Any, directory: Path) -> None:
    server = start(directory)
    lock = server.cluster.data / "postmaster.pid"
    machine.kill_all(directory)
    machine.wait_until(lambda: not machine.processes_in(directory))
    # The number now belongs to a living process of another kind: this one.
    lines = lock.read_text().split("\n")
    lock.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with start(directory) as again:
        assert again.how == "started"
    server.release()


@pytest.mark.usefixtures("made")
@pytest.mark.usefixtures("impatient")
def test_ends_a_query_that_goes_on_without_its_postmaster(machine: Any, directory: Path) -> None:
    with start(directory) as server:
        writer = Writer(server.dsn)
        machine.wait_until(lambda: writer.acknowledged > 50)
        busy = psycopg.connect(server.dsn)
        # Pure computation: nothing in it looks whether the postmaster still lives.
        endless = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"

        def compute() -> None:
            with pytest.raises(psycopg.OperationalError):
                busy.execute(endless)

        query = threading.Thread(target=compute)
        query.start()
        pid = busy.info.backend_pid
        machine.wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_RUNNING)
        time.sleep(0.2)
        os.kill(machine.postmaster(server), signal.SIGKILL)
        with start(directory) as again:
            assert again.how == "started"
            assert pid not in {process.pid for process in machine.processes_in(directory)}
            writer.all_kept()
        query.join(20)
        assert not query.is_alive()


@pytest.mark.usefixtures("made")
@pytest.mark.usefixtures("impatient")
def test_comes_back_when_its_socket_was_deleted(machine: Any, directory: Path) -> None:
    with start(directory) as server:
        for file in server.cluster.socket_directory.iterdir():
            file.unlink()
        with start(directory) as again:
            assert again.how == "started"
            assert machine.ask(again.dsn, "SELECT 1") == 1


@pytest.mark.usefixtures("made")
def test_says_in_one_line_why_it_does_not_start(machine: Any, directory: Path) -> None:
    with pytest.raises(ServerError) as caught:
        start(directory, settings={"shared_buffers": "nonsense"})
    assert "did not start" in str(caught.value)
    assert "\n" not in str(caught.value)
    with start(directory) as server:
        assert machine.ask(server.dsn, "SELECT 1") == 1


@pytest.mark.usefixtures("made")
def test_says_that_the_database_is_of_another_postgres_version(directory: Path) -> None:
    start(directory).release()
    version = directory / "cluster" / "PG_VERSION"
    version.write_text("12\n")
    with pytest.raises(ServerError, match=r"by Postgres 12, .* is not: install an embedded-"):
        start(directory)


@pytest.mark.parametrize("name", ["$(touch ran)", 'a"b', "a,b", "a\nb"])
def test_a_path_that_a_shell_or_a_list_would_take_apart_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServerError, match="set CROSSCORPUS_HOME to another"):
        start(tmp_path / name / "postgres")
    assert not list(tmp_path.rglob("ran"))
