"""What a run reports: while it runs, and at its end."""

from dataclasses import dataclass, field

from operators.postgres.write.ingestion_runs import COUNTS
from operators.sources.protocol import ReadIssue


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: sent after each batch, during a long one, and while nothing has changed.

    Attributes:
        stage: ``wait for ...``, ``scan``, ``delete``, ``finish`` (indexes), ``embed`` or ``done``.
        read: documents that were read to be stored.
        documents: committed in this run.
        unchanged: left as they are.
        failed: documents that were not read or not stored so far.
        skipped: left out on purpose so far.
        chunks: committed in this run.
        embedded: vectors made and kept in this run.
        seconds: since the run began.
        rate: documents a second, unchanged ones included.
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
    rate: float = 0.0
    fraction: float = 0.0
    eta_s: float | None = None


@dataclass(slots=True)
class IngestReport:
    """What a run did. It succeeded if ``failed`` is empty.

    Attributes:
        documents_new: documents that the store did not have.
        documents_changed: documents stored again: their content, their reader, the chunker, the
            analyzer or the model has changed.
        documents_unchanged: documents that were left as they are.
        documents_deleted: documents that their source no longer has.
        failed: what was not read or not stored, and why.
        skipped: what was left out on purpose, and why.
        notes: documents that were read in an unusual way, and how.
        known_failures: unchanged documents that failed before and were not tried again.
        chunks: chunks written.
        embedded: vectors made; those of the other chunks were known.
        stopped_at: the share of the source that was read when the time was up; None: all of it.
        replaced: characters that no database can hold, read as U+FFFD.
        seconds: of the whole run.
        words_seconds: until words found everything.
        embedding_seconds: making vectors, after that.
        unembedded: chunks of the collection that still wait for a vector.
        unsearched: corpora of the collection that the configuration has no entry for.
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
    stopped_at: float | None = None
    replaced: int = 0
    seconds: float = 0.0
    words_seconds: float = 0.0
    embedding_seconds: float = 0.0
    unembedded: int = 0
    unsearched: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no work failed; the command's exit code."""
        return not self.failed

    def counts(self) -> dict[str, int]:
        """The numbers that the record of runs keeps."""
        names = [name for name in COUNTS if name != "failed"]
        return {name: getattr(self, name) for name in names} | {"failed": len(self.failed)}
