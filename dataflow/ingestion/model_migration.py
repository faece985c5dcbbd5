"""Changing the embedding model of a collection in use: fill beside, then cut over."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.ingestion.vectors import seconds_left, vectors_of
from operators.embedding.protocol import Embedder, Vectors
from operators.errors import CrosscorpusError
from operators.postgres.schema import model_migration
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.store import Store
from operators.postgres.write.chunk_vectors import fill, unfilled

CHUNKS_AT_ONCE = 256
"""Chunks of one transaction."""
ROUNDS = 20
"""Rounds of filling: chunks that an ingestion writes meanwhile need another round."""


@dataclass(slots=True)
class ModelMigrationReport:
    """The progress of a model migration."""

    model: str  # the new one
    stage: str = "fill"  # then ``index`` and ``done``
    chunks: int = 0  # that have its vector, of ``total``
    total: int = 0
    embedded: int = 0  # vectors made by this run; the others were known
    # chunks longer than its window: each has the vector of its beginning until it is ingested again
    cut: int = 0
    seconds: float = 0.0
    eta_s: float | None = None  # seconds that filling still takes at this pace; None: unknown


OnProgress = Callable[[ModelMigrationReport], None]


def migrate_model(
    store: Store, embedder: Embedder, *, on_event: OnProgress | None = None
) -> ModelMigrationReport:
    """Migrate a collection to the vectors of another model while it is searched and written to.

    Vectors are made for the existing chunks. If the new model's window differs, the next ingestion
    of each source cuts its documents again. An interrupted run resumes.

    Args:
        embedder: the new model.
        on_event: receives the progress, each time as a new report.

    Raises:
        CrosscorpusError: the collection has this model, or none, or another migration is running.
    """
    began, graph, made = time.monotonic(), build_ingestion_graph(), _OfAnyLength(embedder)
    begun = model_migration.begin_model_migration(
        store, embedder.model, embedder.space, embedder.dimensions
    )
    done = begun.chunks - begun.missing
    report = ModelMigrationReport(embedder.model, chunks=done, total=begun.chunks)

    def report_stage(stage: str) -> None:
        report.stage, report.seconds = stage, time.monotonic() - began
        left = report.total - report.chunks
        filling = stage == "fill"
        report.eta_s = seconds_left(report.chunks - done, left, report.seconds) if filling else None
        if on_event is not None:
            on_event(replace(report))

    for _ in range(ROUNDS):
        after = None
        while len(chunks := unfilled(store, CHUNKS_AT_ONCE, after)):
            after = (chunks["corpus"][-1], chunks["chunk_id"][-1])
            vectors, new = vectors_of(graph, store, made, chunks)
            report.embedded += new
            report.chunks += fill(store, embedder.space, chunks, vectors)
            report.cut, report.total = made.cut, max(report.total, report.chunks)
            report_stage("fill")
        report_stage("index")
        model_migration.build_next_indexes(store)
        try:
            model_migration.cut_over(store)
        except model_migration.ModelMigrationIncomplete:
            continue
        make_searchable(store)
        break
    else:
        raise CrosscorpusError(
            f"an ingestion adds chunks to {store.collection!r} faster than they get vectors of "
            f"{embedder.model!r}: run this again when it is over"
        )
    report_stage("done")
    return report


class _OfAnyLength:
    """A model that also embeds texts beyond its window, each by its beginning."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.space, self.dimensions = embedder.space, embedder.dimensions
        self.cut = 0

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        whole = [count <= self.embedder.max_tokens for count in self.embedder.count_tokens(texts)]
        self.cut += whole.count(False)
        parts = [t if fits else self._beginning(t) for t, fits in zip(texts, whole, strict=True)]
        return self.embedder.embed_documents(parts)

    def _beginning(self, text: str) -> str:
        while len(text) > 1 and self.embedder.count_tokens([text])[0] > self.embedder.max_tokens:
            text = text[: len(text) // 2]
        return text
