from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ingested import document, texts
from ingesting import ingest_documents

from dataflow.ingestion.run import IngestReport, Progress
from operators.postgres.store import Store
from operators.sources.protocol import ReadIssue

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
    for name in ("CHUNKS_AT_ONCE", "MOST_AT_ONCE"):
        monkeypatch.setattr(f"dataflow.ingestion.vectors.{name}", 6)
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


def test_only_a_run_in_which_no_work_failed_is_a_success() -> None:
    skipped = ReadIssue("a.bin", "binary", failed=False)
    assert IngestReport(skipped=[skipped], notes=[skipped], known_failures=2).ok
    assert not IngestReport(failed=[ReadIssue("a.pdf", "damaged")]).ok


def test_the_record_of_runs_gets_numbers_alone() -> None:
    report = IngestReport(documents_new=3, chunks=7, failed=[ReadIssue("a.pdf", "damaged")])
    counts = report.counts()
    assert (counts["documents_new"], counts["chunks"], counts["failed"]) == (3, 7, 1)
    assert {type(value) for value in counts.values()} == {int}
