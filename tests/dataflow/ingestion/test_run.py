from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ingested import document, texts
from ingesting import ingest_documents

from dataflow.ingestion.report import Progress
from operators.postgres.store import Store

Write = Callable[..., Path]


def test_progress_counts_committed_documents_and_ends_done(
    store: Store, embedder: Any, write_lines: Write
) -> None:
    events: list[Progress] = []
    seen: list[int] = []

    def on_event(event: Progress) -> None:
        events.append(event)
        seen.append(len(texts(store)))

    file = write_lines(*(document(n) for n in range(20)))
    ingest_documents(store, embedder, file, batch_documents=5, on_event=on_event)
    assert [e.documents for e in events if e.stage == "scan"] == [5, 10, 15, 20]
    assert [e.documents for e in events] == seen
    assert events[-1].stage == "done"
    assert events[-1].fraction == 1.0
    assert events[-1].chunks == 60


def test_progress_is_told_while_vectors_are_made(
    store: Store, embedder: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.ingestion.vectors.CHUNKS_AT_ONCE", 6)
    events: list[Progress] = []
    ingest_documents(
        store, embedder, write_lines(*(document(n) for n in range(10))),
        on_event=events.append,
    )  # fmt: skip
    within = [e for e in events if e.stage == "embed"]
    assert [(e.embedded, e.fraction) for e in within] == [(n, n / 30) for n in range(6, 31, 6)]
    assert (events[-1].stage, events[-1].fraction) == ("done", 1.0)


def test_another_chunker_cuts_everything_anew_without_embedding_what_is_the_same(
    store: Store, embedder: Any, write_lines: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lines(*(document(n) for n in range(3)))
    ingest_documents(store, embedder, file)
    monkeypatch.setattr("operators.sources.chunking.chunker.VERSION", "next")
    report = ingest_documents(store, embedder, file)
    assert (report.documents_changed, report.embedded) == (3, 0)
