"""What the parts of one run share: its source, the graph, the ledger, the report, its progress."""

import math
import time
from collections.abc import Callable
from typing import Any

from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.ingestion.ledger_snapshot import LedgerSnapshot
from dataflow.ingestion.report import IngestReport, Progress
from dataflow.ingestion.vectors import Embedded
from operators.embedding.protocol import Embedder
from operators.foundation import tokenizer
from operators.foundation.sanitize import replaced_characters
from operators.postgres.store import Store
from operators.postgres.write.ingestion_runs import begin_run
from operators.sources.chunking import chunk_places, chunker
from operators.sources.chunking.grammars import installed
from operators.sources.protocol import Document, Key, Source

EVENT_SECONDS = 0.2
"""Between two reports of progress while no batch ends."""

OnEvent = Callable[[Progress], None]


def fingerprint(source: Source, space: str) -> str:
    """What a stored document was made with, its reader first; with another one it is made again."""
    chunks = f"chunking/{chunker.VERSION} places/{chunk_places.VERSION}"
    if not installed("python"):  # so that code is read again when the grammars are there
        chunks += " no_grammars"
    return f"{source.reader} {chunks} analysis/{tokenizer.VERSION} {source.judged} space/{space}"


class Run:
    """One run over a source. ``scan``, ``store`` and ``finish`` read and change it.

    Attributes:
        report: the counts so far.
        known: what the ledger has of the source's documents. Close it.
        waiting: documents that are read and not yet stored.
        changed_corpora: corpora that this run wrote to.
        cured: documents that are again as the store has them, after a version that failed.
        met: whether the scan met any document.
        stop_at: the clock's time after which the scan reads no more.
        read: documents that were read to be stored.
        failures_in_a_row: documents that the store did not take, since the last one it took.
        done_before: the share of the source that was done when this batch began.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        source: Source,
        on_event: OnEvent | None = None,
        graph: dict[str, Any] | None = None,
    ) -> None:
        """Put the run on record; ``graph`` is for :func:`build_ingestion_graph`."""
        self.store = store.embedding_in(embedder.space)  # another model may come in meanwhile
        self.embedder, self.source, self.on_event = embedder, source, on_event
        self.fingerprint = fingerprint(source, embedder.space)
        self.graph = build_ingestion_graph(**graph or {})
        self.report = IngestReport()
        self.waiting: list[Document] = []
        self.changed_corpora: set[str] = set()
        self.cured = set[Key]()
        self.met = False
        self.failures_in_a_row = 0
        self.done_before = 0.0
        self.began = self.reported = time.monotonic()
        self.stop_at = math.inf
        self.read = 0
        self.replaced_before = replaced_characters()
        scopes = source.scopes or ()
        repos = sorted({repo for _, repo in scopes if repo})
        named = " ".join([source.reader, *repos])
        met = (corpus for corpus, _ in scopes)
        folder = source.addresses[0] if source.revision and source.addresses else None
        self.number = begin_run(store, named, met, source.revision, folder, source.command)
        self.known = LedgerSnapshot(store, source.reader, self.number)

    @property
    def report_is_due(self) -> bool:
        """Whether the last report of progress is some time ago."""
        return time.monotonic() - self.reported > EVENT_SECONDS

    def tell(self, stage: str, vectors: Embedded | None = None) -> None:
        """Report how far the run is: with its reading, or with its ``vectors``."""
        self.reported = time.monotonic()
        if self.on_event is None:
            return
        report = self.report
        seconds = self.reported - self.began
        committed = report.documents_new + report.documents_changed
        fraction, lasted = self.done_before, seconds
        if vectors is not None:
            fraction = vectors.chunks / max(vectors.chunks + vectors.left, 1)
            lasted = vectors.seconds
        known_pace = stage in ("scan", "embed") and fraction > 0 and lasted > 1
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
                rate=(committed + report.documents_unchanged) / seconds if seconds else 0.0,
                fraction=fraction,
                eta_s=lasted * (1 - fraction) / fraction if known_pace else None,
            )
        )
