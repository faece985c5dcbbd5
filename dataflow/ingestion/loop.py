"""The loop around the ingestion graph: scan, compare with the ledger, run the graph by batches.

The graph sees a bounded batch, so that memory does not grow with a source. What has to survive a
``kill -9`` is in the store alone: a document counts once its transaction is committed, its vectors
are kept from the moment they are made, and the next run takes up what the ledger does not have.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import islice
from typing import Any

from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.ingestion.graph import NodeSeconds, build_ingestion_graph
from dataflow.ingestion.ledger_snapshot import GOOD, Known, Scope
from dataflow.ingestion.ownership import claimed
from dataflow.ingestion.report import IngestReport, Progress
from dataflow.ingestion.version_discovery import find_versions
from operators.embedding.protocol import Embedder, EmbeddingError
from operators.errors import CrosscorpusError
from operators.foundation import tokenizer
from operators.foundation.sanitize import replaced_characters
from operators.postgres.errors import DatabaseError
from operators.postgres.schema.indexes import build_indexes
from operators.postgres.schema.pending_indexes import pending_corpora
from operators.postgres.store import ModelMismatch, Store, set_model
from operators.postgres.write.document_writer import Written, delete_documents
from operators.postgres.write.ingestion_runs import begin_run, end_run
from operators.postgres.write.ledger import (
    Entry,
    forget_failed_version,
    record_failed_version,
    record_failure,
)
from operators.sources.chunking import chunk_places, chunker
from operators.sources.protocol import Document, Key, LazyDocument, ReadIssue, Source, content_hash

BATCH_DOCUMENTS = 64
BATCH_CHARACTERS = 400_000
"""About 500 chunks."""

BATCH_CHARACTERS_ON_TIME = 40_000
"""Of a run that is to stop after some seconds: a batch that has begun is finished."""

LARGEST_VANISHED_SHARE = 0.3
"""Of a repository's documents in one corpus; more are deleted only if the caller says so."""

FAILURES_IN_A_ROW = 25
"""Documents; then not a document but the model is at fault, and the run ends."""

_OF_A_DOCUMENT = {"unfit_value", "name_taken", "other", "timed_out"}
"""Kinds of database errors that another document may not meet; only the first never passes."""

_EVENT_SECONDS = 0.2
_DELETED_AT_ONCE = 500

OnEvent = Callable[[Progress], None]


def ingest(
    store: Store,
    embedder: Embedder,
    source: Source,
    *,
    prune: bool = True,
    allow_mass_delete: bool = False,
    moved: bool = False,
    stop_after_s: float | None = None,
    on_event: OnEvent | None = None,
    batch_documents: int = BATCH_DOCUMENTS,
    batch_characters: int = BATCH_CHARACTERS,
    **graph: Any,
) -> IngestReport:
    """Bring the collection to the state of ``source``; what has not changed costs only its scan.

    Args:
        store: the open collection.
        embedder: its model; the first run sets it.
        source: what to read.
        prune: delete the documents that a complete scan has not met.
        allow_mass_delete: even if they are more than ``LARGEST_VANISHED_SHARE``.
        moved: the documents that were brought in under the source's name from elsewhere are its.
        stop_after_s: seconds after which no more is read, once something was stored; what was is
            whole, and the next run goes on. Indexes are built after that.
        on_event: told how far the run is, from this thread.
        batch_documents: documents of one transaction, at most.
        batch_characters: their text, at most, unless one document alone has more.
        graph: passed on to :func:`dataflow.ingestion.graph.build_ingestion_graph`.

    Returns:
        What was done. Faults of single documents are in it, not raised.

    Raises:
        CrosscorpusError: nothing at all can be done: another model, no server, a source that
            cannot be opened or whose name is another's.
    """
    set_model(store, embedder.model, embedder.space, embedder.dimensions)
    source = claimed(store, source, moved=moved)
    run = _Run(store, embedder, source, on_event, graph)
    if stop_after_s is not None:
        run.stop_at = run.began + stop_after_s
        batch_characters = min(batch_characters, BATCH_CHARACTERS_ON_TIME)
    with closing(run.known):
        complete = run.scan(batch_documents, batch_characters)
        if prune and complete:
            run.delete_vanished(allow_mass_delete)
    return run.finish()


def fingerprint(reader: str, space: str) -> str:
    """What a stored document was made with, its reader first; another one is made anew."""
    chunks = f"chunking/{chunker.VERSION} places/{chunk_places.VERSION}"
    return f"{reader} {chunks} analysis/{tokenizer.VERSION} space/{space}"


class _GaveUp(Exception):
    pass


class _Run:
    """One run: the documents that wait for a batch, and the counts."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        source: Source,
        on_event: OnEvent | None,
        graph: dict[str, Any],
    ) -> None:
        self.store = store.embedding_in(embedder.space)  # another model may come in meanwhile
        self.embedder, self.source = embedder, source
        self.on_event = on_event
        self.report = IngestReport()
        self.fingerprint = fingerprint(source.reader, embedder.space)
        self.changed_corpora: set[str] = set()
        self.cured = set[Key]()  # in the store as they are now, after a version that failed
        self.waiting: list[Document] = []
        self.failures_in_a_row = 0
        self.done_before = 0.0  # the share of the source that was done when this batch began
        self.nodes = NodeSeconds()
        adapters = [self.nodes, *graph.pop("adapters", ())]
        self.graph = build_ingestion_graph(adapters=adapters, **graph)
        self.began = self.told = time.monotonic()
        self.stop_at = math.inf
        self.replaced_before = replaced_characters()
        scopes = source.scopes or ()
        self.number = begin_run(store, source.reader, (corpus for corpus, _ in scopes))
        self.known = Known(store, source.reader, self.number)
        self.met = False

    def scan(self, batch_documents: int, batch_characters: int) -> bool:
        """Read the whole source; return whether every document of it was met."""
        try:
            return self._scan(batch_documents, batch_characters)
        except _GaveUp as exc:
            self.report.failed.append(ReadIssue("the run", str(exc)))
            return False

    def _scan(self, batch_documents: int, batch_characters: int) -> bool:
        complete = True
        characters = 0
        items = self.source.scan()
        while True:
            if self.changed_corpora and time.monotonic() >= self.stop_at:
                self.report.stopped_at = self.source.fraction()
                complete = False
                break
            try:
                item = next(items, None)
            except (CrosscorpusError, OSError) as exc:
                self.report.failed.append(ReadIssue("the scan", f"ended early: {exc}"))
                complete = False
                break
            if item is None:
                break
            self.met |= not isinstance(item, ReadIssue) or item.key is not None
            if isinstance(item, LazyDocument) and self._is_new(item.key, item.content):
                item = item.read()
            if isinstance(item, ReadIssue):
                complete &= self._take_fault(item)
            elif isinstance(item, Document) and self._is_new(item.key, content_hash(item)):
                if kept := self.known.more_than(item):
                    self.report.documents_unchanged += 1
                    self._take_fault(kept)
                else:
                    self.waiting.append(item)
                    characters += len(item.text)
            if len(self.waiting) >= batch_documents or characters >= batch_characters:
                self._store_waiting()
                characters = 0
            elif time.monotonic() - self.told > _EVENT_SECONDS:
                if not self.waiting:
                    self.done_before = self.source.fraction()
                self._tell("scan")
        self._store_waiting()
        return complete

    def delete_vanished(self, allow_mass_delete: bool) -> None:
        """Delete what this kind of source brought in before and no longer has."""
        if not self.met:
            self._refuse_empty()
            return
        for scope in self.source.scopes or self.known.scopes:
            self._delete_vanished(scope, allow_mass_delete)

    def _delete_vanished(self, scope: Scope, allow_mass_delete: bool) -> None:
        corpus, repo = scope

        def left_out(name: str) -> bool:
            return self.source.left_out((corpus, repo, name))

        counts = Counter(left_out(name) for name in self.known.vanished(scope))
        if not counts:
            return
        gone, before = counts[False], self.known.before(scope) - counts[True]
        refused = gone > LARGEST_VANISHED_SHARE * before and not allow_mass_delete
        if refused:
            where = f"{corpus} of {repo}" if repo else corpus
            why = (
                f"{gone} of {before} documents are gone from the source; none was deleted: is it "
                "whole? If so, allow it (--allow-mass-delete)"
            )
            self.report.failed.append(ReadIssue(where, why))
        names = (n for n in self.known.vanished(scope) if not refused or left_out(n))
        while part := list(islice(names, _DELETED_AT_ONCE)):
            self.report.documents_deleted += delete_documents(self.store, corpus, repo, part)
            self.changed_corpora.add(corpus)
            self._tell("delete")

    def _refuse_empty(self) -> None:
        """A source in which nothing is left is one that is not mounted, whatever was allowed."""
        scopes = self.source.scopes or ()
        before = sum(self.known.before(scope) for scope in scopes)
        if before:
            where = ", ".join(sorted(corpus for corpus, _ in scopes))
            self.report.failed.append(
                ReadIssue(where, f"the source is empty; none of its {before} documents was deleted")
            )

    def finish(self) -> IngestReport:
        """Build what searches need, also for a run that was killed before it came to that."""
        for key in sorted(self.cured):
            forget_failed_version(self.store, *key)
        corpora = self.changed_corpora | set(pending_corpora(self.store))
        if corpora:
            self._tell("finish")
            build_indexes(self.store, sorted(corpora))
        find_versions(self.store, lambda done, of: self._tell("finish"))
        if self.report.stopped_at is None:
            end_run(self.store, self.number, self.report.ok, self.report.counts())
        self.report.replaced += replaced_characters() - self.replaced_before
        self.report.seconds = time.monotonic() - self.began
        self.report.embedding_seconds = self.nodes.seconds.get("new_vectors", 0.0)
        self._tell("done")
        return self.report

    def _is_new(self, key: Key, content: str) -> bool:
        """Whether the store has to take this document; notes it as met."""
        entry = self.known.meet(key)
        if entry is None:
            return True
        same = entry[:2] == (content, self.fingerprint)
        if same and entry.failed_reason is not None:
            self.cured.add(key)
        if not same and entry.failed_with != f"{content} {self.fingerprint}":
            return True
        self.report.documents_unchanged += 1
        self.report.known_failures += entry.state not in GOOD or not same
        return False

    def _take_fault(self, fault: ReadIssue) -> bool:
        """Note it; return whether the scan still knows every document it should have met."""
        (self.report.failed if fault.failed else self.report.skipped).append(fault)
        if fault.key is None:
            return not fault.failed
        self._record(fault.key, fault.state, fault.reason, fault.content)
        return True

    def _record(self, key: Key, state: str, reason: str, content: str | None) -> None:
        """Have the ledger say that a document failed; a version that is good stays."""
        entry = self.known.meet(key)
        if any(document.key == key for document in self.waiting):
            return
        if entry is not None and entry.state in GOOD:
            self.cured.discard(key)
            failed_with = content and f"{content} {self.fingerprint}"
            if (entry.failed_with, entry.failed_reason) != (failed_with, reason):
                record_failed_version(self.store, *key, reason, failed_with)
                self.known.note(key, entry._replace(failed_with=failed_with, failed_reason=reason))
            return
        if entry == (new := Entry(content, self.fingerprint, state, reason)):
            return
        record_failure(
            self.store,
            *key,
            reason,
            state=state,
            content_hash=content,
            fingerprint=self.fingerprint,
        )
        self.known.note(key, new)

    def _store_waiting(self) -> None:
        batch, self.waiting = self.waiting, []
        if not batch:
            self.done_before = self.source.fraction()
            return
        try:
            self._store(batch)
        except Exception as exc:
            of_a_document = not isinstance(exc, DatabaseError) or exc.kind in _OF_A_DOCUMENT
            if isinstance(exc, ModelMismatch) or not of_a_document:
                raise
            if len(batch) == 1:
                self._failed(batch[0], exc)
            else:
                for document in batch:
                    self.waiting = [document]
                    self._store_waiting()
        self.done_before = self.source.fraction()
        self._tell("scan")

    def _failed(self, document: Document, error: Exception) -> None:
        reason = f"{type(error).__name__}: {error}"
        where = document.path or document.document_id
        self.report.failed.append(ReadIssue(where, reason, key=document.key))
        # A model or a server that fails may work tomorrow; anything else fails again on the same
        # content.
        passing = isinstance(error, EmbeddingError) or (
            isinstance(error, DatabaseError) and error.kind != "unfit_value"
        )
        content = None if passing else content_hash(document)
        self._record(document.key, "failed", reason, content)
        self.failures_in_a_row += 1
        if self.failures_in_a_row >= FAILURES_IN_A_ROW:
            raise _GaveUp(
                f"ended after {FAILURES_IN_A_ROW} documents in a row that could not be stored"
            ) from error

    def _store(self, batch: list[Document]) -> None:
        inputs = {
            "batch": batch,
            "fingerprint": self.fingerprint,
            "store": self.store,
            "embedder": self.embedder,
            "on_embedded": self._embedded,
        }
        with quiet_hamilton():
            made = self.graph.execute(["written", "ledger_entries"], inputs=inputs)
        written: Written = made["written"]
        self.report.chunks += written.chunks
        self.report.replaced += written.replaced
        noted = made["ledger_entries"].drop_nulls("note").select("document_id", "note")
        self.report.notes += [
            ReadIssue(where, note, failed=False) for where, note in noted.iter_rows()
        ]
        self.failures_in_a_row = 0
        for document in batch:
            if self.known.meet(document.key) is None:
                self.report.documents_new += 1
            else:
                self.report.documents_changed += 1
            self.known.note(document.key, Entry("", self.fingerprint, "indexed"))
            self.changed_corpora.add(document.corpus)

    def _embedded(self, texts: int, share: float) -> None:
        self.report.embedded += texts
        if share < 1 and time.monotonic() - self.told > _EVENT_SECONDS:
            self._tell("scan", share)

    def _tell(self, stage: str, share: float = 0.0) -> None:
        """Tell how far the run is, ``share`` of the way through a batch."""
        self.told = time.monotonic()
        if self.on_event is None:
            return
        report = self.report
        seconds = self.told - self.began
        committed = report.documents_new + report.documents_changed
        fraction = self.done_before + share * (self.source.fraction() - self.done_before)
        known_pace = stage == "scan" and fraction > 0 and seconds > 1
        self.on_event(
            Progress(
                stage=stage,
                documents=committed,
                unchanged=report.documents_unchanged,
                failed=len(report.failed),
                skipped=len(report.skipped),
                chunks=report.chunks,
                embedded=report.embedded,
                seconds=seconds,
                rate=(committed + report.documents_unchanged) / seconds if seconds else 0.0,
                fraction=fraction,
                eta_s=seconds * (1 - fraction) / fraction if known_pace else None,
            )
        )
