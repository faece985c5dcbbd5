"""The state that the parts of a run share: its source, graph, ledger, report and progress."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.ingestion.ledger_snapshot import GOOD, LedgerSnapshot
from dataflow.ingestion.vectors import Embedded, seconds_left
from operators.embedding.protocol import Embedder
from operators.foundation import tokenizer
from operators.foundation.principals import IMPORTER
from operators.foundation.sanitize import replaced_characters
from operators.postgres.store import Store
from operators.postgres.write.document_classes import rules_of
from operators.postgres.write.document_writer import Written, delete_documents
from operators.postgres.write.ingestion_runs import COUNTS, begin_run
from operators.postgres.write.ledger import Entry, record_failed_version, record_failure
from operators.sources.chunking import chunker
from operators.sources.chunking.grammars import installed
from operators.sources.protocol import Document, Key, ReadIssue, Source
from operators.sources.rights_rules import Rights, read_rights

EVENT_SECONDS = 0.2
"""Seconds between two reports of progress while no batch ends."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run: sent after each batch, during a long one, and during unchanged parts.

    Attributes:
        stage: ``wait for ...``, ``scan``, ``delete``, ``finish`` (indexes), ``words`` (keyword
            search finds everything now), ``embed``, ``done``.
        read: documents that were read to be stored.
        documents: committed in this run.
        unchanged: left as they are.
        failed: documents that were not read or not stored so far.
        fault: the first of them, with its reason.
        skipped: left out on purpose so far.
        chunks: committed in this run.
        embedded: vectors made and kept in this run.
        seconds: since the run began.
        fraction: of the source read, 0..1; while it embeds, of the chunks that lacked a vector.
        eta_s: seconds that this stage still takes at this pace; None while the pace is unknown.
    """

    stage: str
    read: int = 0
    documents: int = 0
    unchanged: int = 0
    failed: int = 0
    skipped: int = 0
    chunks: int = 0
    embedded: int = 0
    seconds: float = 0.0
    fraction: float = 0.0
    eta_s: float | None = None
    fault: str | None = None


@dataclass(slots=True)
class IngestReport:
    """The report of a run. It succeeded if ``failed`` is empty.

    Attributes:
        documents_new: documents that the store did not have.
        documents_changed: documents stored again: their content, their reader, the chunker, the
            analyzer or the model has changed.
        documents_unchanged: documents that were not stored again.
        documents_deleted: documents that their source no longer has.
        failed: what was not read or not stored, and why.
        skipped: what was left out on purpose, and why.
        notes: documents that were read in an unusual way, and how.
        known_failures: unchanged documents that failed before and were not retried.
        chunks: chunks written.
        embedded: vectors made; those of the other chunks were cached.
        replaced: characters that no database can hold, read as U+FFFD.
        seconds: of the whole run.
        words_seconds: until keyword search found everything.
        embedding_seconds: making vectors, after that.
        unembedded: chunks of the collection that have no vector yet.
        unsearched: corpora of the collection that the configuration has no entry for.
        hidden: its documents that only the owner sees, because nothing says who may.
    """

    documents_new: int = 0
    documents_changed: int = 0
    documents_unchanged: int = 0
    documents_deleted: int = 0
    failed: list[ReadIssue] = field(default_factory=list)
    skipped: list[ReadIssue] = field(default_factory=list)
    notes: list[ReadIssue] = field(default_factory=list)
    known_failures: int = 0
    chunks: int = 0
    embedded: int = 0
    replaced: int = 0
    seconds: float = 0.0
    words_seconds: float = 0.0
    embedding_seconds: float = 0.0
    unembedded: int = 0
    unsearched: list[str] = field(default_factory=list)
    hidden: int = 0

    @property
    def ok(self) -> bool:
        """Whether no work failed; the command's exit code."""
        return not self.failed

    def counts(self) -> dict[str, int]:
        """The counts that are stored in the record of runs."""
        names = [name for name in COUNTS if name != "failed"]
        return {name: getattr(self, name) for name in names} | {"failed": len(self.failed)}


OnEvent = Callable[[Progress], None]


def fingerprint(source: Source, space: str) -> str:
    """The reader and settings that made a stored document; when they change, it is made again."""
    chunks = f"chunking/{chunker.VERSION}"
    if not installed("python"):  # so that code is read again when the grammars are there
        chunks += " no_grammars"
    return f"{source.reader} {chunks} analysis/{tokenizer.VERSION} {source.judged} space/{space}"


class Run:
    """One run over a source, as ``scan``, ``store_batch`` and ``finish`` share it."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        source: Source,
        on_event: OnEvent | None,
        graph: dict[str, Any],
    ) -> None:
        """Record the run; ``graph`` is for :func:`build_ingestion_graph`."""
        self.store = store.embedding_in(embedder.space)  # it may be made again meanwhile
        self.embedder, self.source, self.on_event = embedder, source, on_event
        self.fingerprint = fingerprint(source, embedder.space)
        self.read_rights()
        self.graph = build_ingestion_graph(**graph)
        self.report = IngestReport()  # the counts so far
        self.waiting: list[Document] = []  # read and not yet stored
        self.waiting_characters = 0  # of their texts
        self.changed_corpora: set[str] = set()  # that this run wrote to
        self.failures_in_a_row = 0  # documents that could not be stored, since the last stored one
        self.done_before = 0.0  # the share of the source that was done when no document waited
        self.began = self.reported = time.monotonic()
        self.read = 0  # documents that were read to be stored
        self.replaced_before = replaced_characters()
        scopes = source.scopes or ()
        repos = sorted({repo for _, repo in scopes if repo})
        named = " ".join([source.reader, *repos])
        met = (corpus for corpus, _ in scopes)
        folder = source.addresses[0] if source.revision and source.addresses else None
        self.number = begin_run(store, named, met, source.revision, folder, source.command)
        self.known = LedgerSnapshot(store, source.reader, self.number)  # close it

    @property
    def report_is_due(self) -> bool:
        """Whether the last report of progress is some time ago."""
        return time.monotonic() - self.reported > EVENT_SECONDS

    def is_new(self, key: Key, content: str) -> bool:
        """Whether the document must be stored; it is noted as met."""
        entry = self.known.meet(key)
        if entry is None:
            return True
        same = entry[:2] == (content, self.fingerprint)
        if same and entry.failed_reason is not None:  # after a failed version: the ledger says so
            return True
        if not same and entry.failed_with != f"{content} {self.fingerprint}":
            return True
        self.report.documents_unchanged += 1
        self.report.known_failures += entry.state not in GOOD or not same
        return False

    def read_rights(self) -> None:
        """Read the rules of rights; without any, a service's documents are for their importer."""
        rules = rules_of(self.store)
        service = self.source.reader.startswith(("records_", "own_"))
        otherwise = (IMPORTER,) if service else None
        self.rights = read_rights(rules) if rules else Rights(otherwise=otherwise)

    def take(self, document: Document) -> None:
        """Queue ``document`` for storing."""
        self.waiting.append(document)
        self.waiting_characters += len(document.text)
        self.read += 1

    def take_waiting(self) -> list[Document]:
        """The queued documents; the queue is empty afterwards."""
        batch, self.waiting, self.waiting_characters = self.waiting, [], 0
        return batch

    def note_stored(self, batch: Sequence[Document], written: Written) -> None:
        """Count ``batch`` as stored, as the store says what was ``written``."""
        self.failures_in_a_row = 0
        self.report.chunks += written.chunks
        self.report.replaced += written.replaced
        self.report.documents_new += written.new
        self.report.documents_changed += written.documents - written.new
        for document in batch:
            self.known.note(document.key, Entry("", self.fingerprint, "indexed"))
            self.changed_corpora.add(document.corpus)

    def fail(self, where: str, why: str, key: Key | None = None) -> None:
        """Report that something was not read, or that the document ``key`` was not stored."""
        self.report.failed.append(ReadIssue(where, why, key=key))
        self.failures_in_a_row += key is not None

    def record_issue(self, key: Key, state: str, reason: str, content: str | None) -> None:
        """Record in the ledger that a document failed; its stored version stays.

        Args:
            key: of the document; if it waits, nothing is recorded.
            state: see :class:`operators.sources.protocol.ReadIssue`.
            reason: what the ledger says.
            content: hash of what failed, if it fails again until that changes.
        """
        entry = self.known.meet(key)
        if any(document.key == key for document in self.waiting):
            return
        if entry is not None and entry.state in GOOD:
            failed_with = content and f"{content} {self.fingerprint}"
            new = entry._replace(failed_with=failed_with, failed_reason=reason)
            if entry != new:
                record_failed_version(self.store, *key, reason, failed_with)
        else:
            new = Entry(content, self.fingerprint, state, reason)
            if entry != new:
                record_failure(self.store, *key, reason, state, content, self.fingerprint)
        self.known.note(key, new)

    def delete(self, corpus: str, repo: str, names: Sequence[str]) -> None:
        """Delete documents from the store, and count them."""
        self.report.documents_deleted += delete_documents(self.store, corpus, repo, names)
        self.changed_corpora.add(corpus)

    def tell(self, stage: str, vectors: Embedded | None = None) -> None:
        """Report the progress of the run: of its reading, or of its ``vectors``."""
        self.reported = time.monotonic()
        if self.on_event is None:
            return
        if not self.waiting:
            self.done_before = self.source.fraction()
        report = self.report
        seconds = self.reported - self.began
        committed = report.documents_new + report.documents_changed
        fraction = self.done_before
        eta_s = seconds_left(fraction, 1 - fraction, seconds) if stage == "scan" else None
        if vectors is not None:
            fraction = vectors.chunks / max(vectors.chunks + vectors.left, 1)
            eta_s = vectors.eta_s
        self.on_event(
            Progress(
                stage=stage,
                read=self.read,
                documents=committed,
                unchanged=report.documents_unchanged,
                failed=len(report.failed),
                skipped=len(report.skipped),
                chunks=report.chunks,
                embedded=report.embedded,
                seconds=seconds,
                fraction=fraction,
                eta_s=eta_s,
                fault=str(report.failed[0]) if report.failed else None,
            )
        )
