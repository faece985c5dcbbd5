"""A real disk that gets full in each state of an ingestion: said plainly, nothing is lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingesting import ingest_documents, interrupted
from numpy.typing import NDArray

from dataflow.driver.retrieval_driver import build_driver
from dataflow.ingestion.vectors import embed_missing
from dataflow.ingestion.watch import watch
from operators.postgres.errors import DatabaseError
from operators.postgres.inspect.verify import verify
from operators.postgres.schema import indexes
from operators.postgres.server.embedded_server import Server, start
from operators.postgres.server.programs import ServerError
from operators.postgres.store import Store, collection_info, open_store
from operators.sources.folder import folder_source

DOCUMENTS = 200
PASSAGES = 2 * DOCUMENTS
IN_FLIGHT = 32
FULL = r"disk of the server at .* is full .*: make room in its data directory, then run the same"


class Disk:
    """A small disk with a server and a collection on it."""

    def __init__(self, folder: Path, server: Server, store: Store) -> None:
        self.folder, self.server, self.store = folder, server, store

    def fill(self, leave: int = 0) -> None:
        self.store.execute("SELECT pg_switch_wal()")
        # the log's next file is there: tables, and not the log, will lack room
        self.store.execute("SELECT pg_logical_emit_message(true, 'test', 'begins a file')")
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            try:
                while shutil.disk_usage(self.folder).free > leave:
                    filler.write(bytes(min(1 << 20, shutil.disk_usage(self.folder).free - leave)))
            except OSError:
                assert leave == 0

    def empty(self) -> None:
        (self.folder / "filler").unlink()


class Model:
    """Random vectors, and a record of what was embedded; something may happen before that."""

    model, space, dimensions, max_tokens = "random", "random-1", 384, 60

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.before: Callable[[], None] = lambda: None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.before()
        self.embedded += texts
        return self.embed_queries(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        seeds = [zlib.crc32(text.encode()) for text in texts]
        each = [np.random.default_rng(seed).normal(size=self.dimensions) for seed in seeds]
        return np.stack([one / np.linalg.norm(one) for one in each]).astype(np.float32)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def disk(small_disk: Path) -> Iterator[Disk]:
    with (
        start(small_disk / "postgres", settings={"fsync": "off"}) as server,
        open_store(server.dsn, "team", create=True) as store,
    ):
        yield Disk(small_disk, server, store)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path, DOCUMENTS)


def write(folder: Path, documents: int) -> Path:
    """A file of so many documents, each of two passages."""
    written = folder / "documents.jsonl"
    with written.open("w") as out:
        for n in range(documents):
            text = " ".join(f"word{n}x{i}" for i in range(90))
            out.write(json.dumps({"doc_id": f"d{n:03}", "corpus": "docs", "text": text}) + "\n")
    return written


def best(disk: Disk, model: Model, query: str) -> str:
    found = build_driver("default", store=disk.store, embedder=model).execute(
        ["results"], inputs={"query": query}
    )
    return str(found["results"]["document_id"][0])


def is_whole(disk: Disk, passages: int = PASSAGES) -> None:
    disk.store.forget_info()
    info = collection_info(disk.store)
    assert (info.corpora, info.unembedded) == ({"docs": passages}, {})
    assert verify(disk.store).is_empty()


def test_while_words_are_written(disk: Disk, model: Model, file: Path) -> None:
    interrupted(ingest_documents, disk.store, model, file)
    disk.fill(leave=100_000)
    with pytest.raises(DatabaseError, match=FULL):
        ingest_documents(disk.store, model, file)
    assert best(disk, model, "word3x5 word3x6") == "d003"
    disk.empty()
    assert ingest_documents(disk.store, model, file).ok
    is_whole(disk)
    assert len(model.embedded) == len(set(model.embedded)) == PASSAGES


def test_while_two_workers_write_vectors(disk: Disk, model: Model, file: Path) -> None:
    ingest_documents(disk.store, model, file, wait="words")
    both = threading.Barrier(2)

    def fill_once() -> None:
        if both.wait(20) == 0:
            disk.fill()
        both.wait(20)
        model.before = lambda: None

    model.before = fill_once
    with ThreadPoolExecutor(2) as workers:
        ends = [workers.submit(embed_missing, disk.store, model) for _ in range(2)]
        for end in ends:
            with pytest.raises(DatabaseError, match=FULL):
                end.result()
    assert best(disk, model, "word3x5 word3x6") == "d003"
    disk.empty()
    assert ingest_documents(disk.store, model, file).ok
    is_whole(disk)
    assert len(model.embedded) - len(set(model.embedded)) <= 2 * IN_FLIGHT


def test_while_the_vector_index_is_built(
    disk: Disk, model: Model, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_documents(disk.store, model, file)
    monkeypatch.setattr(indexes, "EXACT_SCAN_MAX_ROWS", 100)
    disk.fill()
    with pytest.raises(DatabaseError, match=FULL):
        embed_missing(disk.store, model)
    assert best(disk, model, "word3x5 word3x6") == "d003"
    disk.empty()
    embed_missing(disk.store, model)
    assert disk.store.rows("SELECT 1 FROM pg_indexes WHERE indexname ~ 'hnsw'") == [(1,)]
    is_whole(disk)
    assert len(model.embedded) == PASSAGES


def test_while_a_folder_is_watched_it_goes_on_by_itself(
    disk: Disk, model: Model, tmp_path: Path
) -> None:
    root, told, stop = tmp_path / "handbook", list[Any](), threading.Event()
    root.mkdir()

    def save(name: str) -> None:
        (root / name).write_text("\n\n".join(f"{name} {n} " * 40 for n in range(200)))

    def until(condition: Callable[[], object]) -> None:
        ends = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < ends, told
            time.sleep(0.1)

    def left() -> int:
        disk.store.forget_info()
        return sum(collection_info(disk.store).unembedded.values())

    def faults() -> list[Any]:
        return [one for one in told if isinstance(one, DatabaseError)]

    def fill_once() -> None:
        model.before = lambda: None
        disk.fill()

    save("a.md")
    model.before = fill_once
    work = (disk.store, model, root, lambda: folder_source(root, "docs", "team"))
    how = {"on_change": told.append, "stop": stop}
    watcher = threading.Thread(target=watch, args=work, kwargs=how)
    watcher.start()
    try:
        until(faults)
        assert left() > 0
        disk.empty()
        until(lambda: left() == 0)
        disk.fill()
        save("b.md")
        until(lambda: len(faults()) == 2)
        disk.empty()
        until(lambda: best(disk, model, '"b.md 199"').endswith("b.md") and left() == 0)
    finally:
        stop.set()
        watcher.join(60)
    assert [one.kind for one in faults()] == ["disk_full", "disk_full"]
    assert verify(disk.store).is_empty()
    assert len(model.embedded) - len(set(model.embedded)) <= 4 * IN_FLIGHT


def test_a_server_that_cannot_start_says_so_until_there_is_room(disk: Disk) -> None:
    disk.store.execute("CREATE TABLE kept AS SELECT 1")
    disk.fill()
    disk.store.execute("SELECT pg_switch_wal()")
    running = disk.server.cluster.running()
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    with pytest.raises(ServerError, match=r"No space left on device: make room on its disk, then"):
        disk.server.ensure()
    disk.empty()
    assert disk.store.rows("SELECT * FROM kept") == [(1,)]
