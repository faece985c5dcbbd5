from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from ingested import document
from ingesting import ingest_documents, interrupted

from dataflow.driver.retrieval_driver import build_driver
from dataflow.ingestion.vectors import embed_missing
from operators.embedding.protocol import EmbeddingError
from operators.postgres.inspect.status import status
from operators.postgres.inspect.verify import verify
from operators.postgres.server.embedded_server import start
from operators.postgres.store import Store, collection_info, open_store, set_background

WORKER = """
import sys, time
sys.path[:0] = [{support!r}]
from word_embedder import WordEmbedder
from dataflow.ingestion import vectors
from operators.postgres.store import open_store

class Slow(WordEmbedder):
    def embed_documents(self, texts):
        print(len(texts), flush=True)
        time.sleep(.02 * len(texts))
        return super().embed_documents(texts)

vectors.CHUNKS_AT_ONCE = vectors.MOST_AT_ONCE = 8
with open_store(sys.argv[1], sys.argv[2], max_size=2) as store:
    print("done", vectors.embed_missing(store, Slow()).chunks, flush=True)
"""


def read_by_words(store: Store, embedder: Any, file: Path) -> Any:
    return ingest_documents(store, embedder, file, wait="words")


def test_what_was_read_is_found_by_words_before_it_has_a_vector_and_the_answer_says_so(
    store: Store, embedder: Any, write_lines: Any
) -> None:
    lines = [document(n) for n in range(6)] + [document(9, text="zanzibar quotient " * 30)]
    report = read_by_words(store, embedder, write_lines(*lines))
    assert report.ok
    assert embedder.embedded == []
    driver = build_driver("default", store=store, embedder=embedder)
    answer = driver.execute(["results", "notes"], inputs={"query": "zanzibar quotient"})
    assert answer["results"]["document_id"][0] == "d009"
    note = f"{report.chunks} of {report.chunks} chunks have no vector yet: keyword search only"
    assert note in answer["notes"]["note"].to_list()
    assert status(store)["unembedded"].to_list() == [report.chunks]
    assert verify(store).is_empty()
    done = embed_missing(store, embedder)
    assert (done.chunks, done.left) == (report.chunks, 0)
    answer = driver.execute(["results", "notes"], inputs={"query": "zanzibar quotient"})
    assert answer["results"]["document_id"][0] == "d009"
    assert not [note for note in answer["notes"]["note"] if "no vector" in note]


def test_an_answer_from_a_source_that_is_read_in_part_says_so(
    store: Store, embedder: Any, write_lines: Any
) -> None:
    lines = write_lines(*[document(n, text=f"quotient {n}") for n in range(40)])

    def notes(**inputs: Any) -> list[str]:
        store.forget_info()
        with build_driver("default", store=store, embedder=embedder) as driver:
            answer = driver.execute(["notes"], inputs={"query": "quotient", **inputs})
        return [note for note in answer["notes"]["note"] if "documents may be missing" in note]

    interrupted(ingest_documents, store, embedder, lines, batch_documents=4)
    corpus = document(0)["corpus"]
    assert notes() == [
        f"{corpus}: the last ingestion has not ended, so that documents may be missing"
    ]
    assert notes(only_corpora=["code"]) == []
    ingest_documents(store, embedder, lines)
    assert notes() == []


def test_a_chunk_without_a_vector_is_not_behind_worse_ones_that_have_theirs(
    store: Store, embedder: Any, write_lines: Any
) -> None:
    near = [document(n, text=f"quotient of page {n} and much besides " * 4) for n in range(8)]
    ingest_documents(store, embedder, write_lines(*near))
    best = document(9, text="zanzibar quotient rules")
    read_by_words(store, embedder, write_lines(*near, best))
    answer = build_driver("default", store=store, embedder=embedder).execute(
        ["results"], inputs={"query": "zanzibar quotient rules"}
    )
    assert answer["results"]["document_id"][0] == "d009"


def test_a_text_that_the_model_cannot_embed_is_on_record_and_the_others_get_their_vectors(
    store: Store, embedder: Any, write_lines: Any
) -> None:
    embedder.fails_on = "poison"
    file = write_lines(document(1), document(2, text="poison now"), document(3))
    report = ingest_documents(store, embedder, file)
    assert [fault.where for fault in report.failed] == ["d002"]
    assert "the model is away" in str(report.failed[0])
    assert status(store)["unembedded", "unembeddable"].rows() == [(0, 1)]
    again = ingest_documents(store, embedder, file)
    assert (again.ok, again.documents_unchanged, again.embedded) == (True, 3, 0)
    embedder.fails_on = "\0never"
    assert ingest_documents(store, embedder, write_lines(document(2, text="better"))).embedded == 1
    assert status(store)["unembeddable"].to_list() == [0]


def test_a_model_that_is_away_leaves_every_chunk_to_the_next_run(
    store: Store, embedder: Any, write_lines: Any
) -> None:
    embedder.fails_on = " "
    report = ingest_documents(store, embedder, write_lines(document(1), document(2)))
    assert [fault.where for fault in report.failed] == ["the vectors"]
    assert (report.documents_new, status(store)["unembeddable"].to_list()) == (2, [0])
    with pytest.raises(EmbeddingError):
        embed_missing(store, embedder)
    embedder.fails_on = "\0never"
    assert embed_missing(store, embedder).chunks == report.chunks


def test_workers_that_die_leave_no_chunk_without_a_vector_and_none_is_made_twice_without_a_death(
    store: Store, embedder: Any, write_lines: Any, server_dsn: str
) -> None:
    file = write_lines(*(document(n) for n in range(40)))
    chunks = read_by_words(store, embedder, file).chunks
    set_background(store, 0.0)  # else the first worker measures it, with texts of its own
    support = str(Path(__file__).parents[2] / "support")
    command = [sys.executable, "-c", WORKER.format(support=support), server_dsn, store.collection]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def made(worker: subprocess.Popen[str]) -> list[str]:
        return worker.communicate(timeout=60)[0].split("\n")

    victim = start()
    for _ in range(3):  # in the midst of its third transaction
        victim.stdout.readline()
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    store.forget_info()
    left = sum(collection_info(store).unembedded.values())
    assert left == chunks - 16
    workers = [start(), start()]
    told = [line for worker in workers for line in made(worker)]
    assert sum(int(line.split()[1]) for line in told if line.startswith("done")) == left
    assert sum(int(line) for line in told if line.isdigit()) == left
    assert embed_missing(store, embedder).chunks == 0
    assert verify(store).is_empty()
    assert status(store)["unembedded"].to_list() == [0]


def test_a_worker_waits_for_a_server_that_was_killed_and_goes_on(
    database_home: Path, new_embedder: Any, write_lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.ingestion.vectors.CHUNKS_AT_ONCE", 8)
    file = write_lines(*(document(n) for n in range(40)))
    with (
        start(database_home / "postgres") as server,
        open_store(server.dsn, collection="team", create=True) as store,
    ):
        chunks = read_by_words(store, new_embedder(), file).chunks
        backend = store.row("SELECT pg_backend_pid()")
        postmaster = psutil.Process(backend[0] if backend else 0).ppid()
        deaths: list[int] = []

        class Deadly(type(new_embedder())):  # type: ignore[misc]
            def embed_documents(self, texts: Any) -> Any:
                if len(self.embedded) > 8 and not deaths:
                    deaths.append(postmaster)
                    os.kill(postmaster, signal.SIGKILL)
                return super().embed_documents(texts)

        done = embed_missing(store, Deadly(), patience_s=60)
        assert (done.left, done.failed, len(deaths)) == (0, [], 1)
        assert status(store)["unembedded", "unembeddable"].rows() == [(0, 0)]
        assert done.chunks == chunks
        assert verify(store).is_empty()


def test_the_cache_of_a_source_that_changes_stays_within_bounds(
    store: Store, new_embedder: Any, write_lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.postgres.write.embedding_cache.SPARE", 0)
    for turn in range(6):
        lines = [document(n, text=f"turn{turn} page{n} " * 20) for n in range(4)]
        ingest_documents(store, new_embedder(), write_lines(*lines))
        cached = store.row("SELECT count(*) FROM embedding_cache") or (0,)
        chunks = store.row("SELECT count(*) FROM chunks") or (0,)
        assert 0 < chunks[0] <= cached[0] <= 2 * chunks[0]
