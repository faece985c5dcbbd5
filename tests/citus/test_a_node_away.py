"""A node of a real cluster is killed: during questions, and in the middle of an ingestion.

The cluster has a worker at each of two ports, and each test's two collections are on one each.
`make test-citus` runs it; CLUSTER_KILL and CLUSTER_START are shell commands that end the node at
port $1 like a power cut, and start it again.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import build_driver, load_config
from operators.errors import CrosscorpusError
from operators.postgres.inspect.verify import verify
from operators.postgres.store import Store, collection_info, drop_collection, open_store

HOST, NEAR, FAR = "127.0.0.1", 55401, 55402
ASK = {"query": "why is the cache flushed twice after a merge?"}
pytestmark = pytest.mark.skipif(
    "CLUSTER_KILL" not in os.environ, reason="needs a Citus cluster: make test-citus"
)


@pytest.fixture
def dsn() -> Iterator[str]:
    yield os.environ["CROSSCORPUS_TEST_DSN"]
    for name in ("near", "far"):
        drop_collection(os.environ["CROSSCORPUS_TEST_DSN"], name)


@contextmanager
def killed(port: int) -> Iterator[None]:
    subprocess.run(["bash", "-c", os.environ["CLUSTER_KILL"], "kill", str(port)], check=True)
    try:
        yield
    finally:
        subprocess.run(["bash", "-c", os.environ["CLUSTER_START"], "start", str(port)], check=True)


def lines(folder: Path, name: str, count: int) -> Path:
    file = folder / f"{name}.jsonl"
    rows = (
        {"doc_id": f"{name}-{n}", "corpus": "wiki", "text": f"the cache {n} of {name} is flushed"}
        for n in range(count)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def move(store: Store, port: int) -> None:
    """Move a collection as docs/scale.md says; where it is already, it stays."""
    where = "SELECT nodeport FROM citus_shards WHERE table_name = 'chunks'::regclass"
    if store.row(where) != (port,):
        store.run(
            lambda conn: conn.execute(
                "SELECT citus_schema_move(%s, %s, %s, 'block_writes')", (store.schema, HOST, port)
            )
        )


def filled(dsn: str, folder: Path) -> None:
    for name, port in (("near", NEAR), ("far", FAR)):
        with open_store(dsn, name, create=True) as store:
            ingest_documents(store, WordEmbedder(), lines(folder, name, 20))
            move(store, port)


def asked(driver: Any) -> tuple[set[str], set[str], str, float]:
    """The corpora that answer, those whose searches failed, the notes, and the seconds."""
    start = time.monotonic()
    out = driver.execute(["results", "outcomes", "notes"], ASK)
    answered, failed = (out["outcomes"].filter(status=status) for status in ("ok", "failed"))
    notes = " ".join(out["notes"]["note"])
    seconds = time.monotonic() - start
    assert out["results"].height
    return set(answered["corpus"]), set(failed["corpus"]), notes, seconds


def test_what_other_nodes_hold_answers_while_one_is_away(dsn: str, tmp_path: Path) -> None:
    filled(dsn, tmp_path)
    entry = {"collection": "far", "corpus": "wiki"}
    config = load_config("default").with_changes({"corpora": {"far_wiki": entry}})
    build = {"dsn": dsn, "embedder": WordEmbedder()}
    with build_driver(config, "near", **build) as warm:
        assert asked(warm)[:2] == ({"wiki", "far_wiki"}, set())
        with killed(FAR):
            answering, failed, notes, seconds = asked(warm)
            assert (answering, failed) == ({"wiki"}, {"far_wiki"})
            assert "far_wiki" in notes
            assert seconds < 3
            with build_driver(config, "near", **build) as cold:
                assert asked(cold)[:2] == ({"wiki"}, {"far_wiki"})
            away = partial(pytest.raises, CrosscorpusError, match="node away|is away")
            with build_driver("default", "far", **build) as alone, away():
                alone.execute(["results"], ASK)
            with open_store(dsn, "far") as store, away():
                ingest_documents(store, WordEmbedder(), tmp_path / "far.jsonl")
        assert asked(warm)[:2] == ({"wiki", "far_wiki"}, set())


def test_an_ingestion_whose_node_dies_says_so_and_the_next_run_has_everything(
    dsn: str, tmp_path: Path
) -> None:
    filled(dsn, tmp_path)
    many = lines(tmp_path, "far", 3000)
    died, errors = threading.Event(), list[CrosscorpusError]()

    class Slow(WordEmbedder):
        def embed_documents(self, texts: Any) -> Any:
            died.wait(60) if len(self.embedded) > 500 else None
            return super().embed_documents(texts)

    def work() -> None:
        try:
            with open_store(dsn, "far") as store:
                ingest_documents(store, slow, many)
        except CrosscorpusError as error:
            errors.append(error)

    slow = Slow()
    thread = threading.Thread(target=work)
    thread.start()
    while len(slow.embedded) <= 500 and thread.is_alive():
        time.sleep(0.01)
    with killed(FAR):
        died.set()
        thread.join(120)
        assert [str(error) for error in errors if "is away" in str(error)]
    with open_store(dsn, "far") as store:
        assert set(verify(store)["kind"]) <= {"unfinished"}
        again = WordEmbedder()
        ingest_documents(store, again, many)
        assert verify(store).is_empty()
        assert collection_info(store).corpora == {"wiki": 3000}
    assert len(again.embedded) < 3000


def test_questions_go_on_while_a_collection_moves(dsn: str, tmp_path: Path) -> None:
    filled(dsn, tmp_path)
    moved = threading.Event()
    given = {"dsn": dsn, "embedder": WordEmbedder()}
    with build_driver("default", "far", **given) as driver, open_store(dsn, "far") as store:
        before = driver.execute(["results"], ASK)["results"]

        def move_both_ways() -> None:
            for port in (NEAR, FAR):
                move(store, port)
            moved.set()

        thread = threading.Thread(target=move_both_ways)
        thread.start()
        asked = 0
        while thread.is_alive():  # a move that fails ends it too
            out = driver.execute(["results", "outcomes"], ASK)
            assert out["outcomes"].filter(status="failed").is_empty()
            assert out["results"].equals(before)
            asked += 1
        thread.join()
    assert moved.is_set()
    assert asked > 3
