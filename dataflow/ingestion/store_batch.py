"""Stores the documents that wait: as one batch through the graph, or one by one if that fails."""

from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.ingestion.ledger_snapshot import GOOD
from dataflow.ingestion.run import Run
from operators.embedding.protocol import EmbeddingError
from operators.foundation.disk_dict import NoScratch
from operators.postgres.errors import DatabaseError
from operators.postgres.store import ModelMismatch
from operators.postgres.write.document_writer import Written
from operators.postgres.write.ledger import Entry, record_failed_version, record_failure
from operators.sources.protocol import Document, Key, ReadIssue, content_hash

FAILURES_IN_A_ROW = 25
"""Documents; then not a document but the model is at fault, and the run ends."""

_OF_A_DOCUMENT = {"unfit_value", "name_taken", "other", "timed_out"}
"""Kinds of database errors that another document may not meet; only the first never passes."""


class GaveUp(Exception):
    """Too many documents in a row could not be stored."""


def store_waiting(run: Run) -> None:
    """Store the documents that wait; if the batch fails, each of them alone.

    Raises:
        GaveUp: ``FAILURES_IN_A_ROW`` documents failed, one after the other.
        ModelMismatch: the collection has another model by now.
        DatabaseError: the server takes no document at all.
        NoScratch: the folder for temporary files is full.
    """
    batch, run.waiting = run.waiting, []
    if not batch:
        return
    try:
        _store(run, batch)
    except Exception as exc:
        of_a_document = not isinstance(exc, DatabaseError) or exc.kind in _OF_A_DOCUMENT
        if isinstance(exc, ModelMismatch | NoScratch) or not of_a_document:
            raise
        if len(batch) == 1:
            _report_failure(run, batch[0], exc)
        else:
            for document in batch:
                run.waiting = [document]
                store_waiting(run)
    run.tell("scan")


def record_issue(run: Run, key: Key, state: str, reason: str, content: str | None) -> None:
    """Have the ledger say that a document failed; a good version in the store stays.

    Args:
        run: the run; if the document waits in it, nothing is recorded.
        key: of the document.
        state: see :class:`operators.sources.protocol.ReadIssue`.
        reason: what the ledger says.
        content: hash of what failed, if it fails again until that changes.
    """
    entry = run.known.meet(key)
    if any(document.key == key for document in run.waiting):
        return
    if entry is not None and entry.state in GOOD:
        run.cured.discard(key)
        failed_with = content and f"{content} {run.fingerprint}"
        if (entry.failed_with, entry.failed_reason) != (failed_with, reason):
            record_failed_version(run.store, *key, reason, failed_with)
            run.known.note(key, entry._replace(failed_with=failed_with, failed_reason=reason))
        return
    if entry == (new := Entry(content, run.fingerprint, state, reason)):
        return
    record_failure(
        run.store, *key, reason, state=state, content_hash=content, fingerprint=run.fingerprint
    )
    run.known.note(key, new)


def _store(run: Run, batch: list[Document]) -> None:
    inputs = {
        "batch": batch,
        "fingerprint": run.fingerprint,
        "store": run.store,
        "embedder": run.embedder,
    }
    with quiet_hamilton():
        made = run.graph.execute(["written", "ledger_entries"], inputs=inputs)
    written: Written = made["written"]
    run.report.chunks += written.chunks
    run.report.replaced += written.replaced
    noted = made["ledger_entries"].drop_nulls("note").select("document_id", "note")
    run.report.notes += [ReadIssue(where, note, failed=False) for where, note in noted.iter_rows()]
    run.failures_in_a_row = 0
    run.report.documents_new += written.new
    run.report.documents_changed += written.documents - written.new
    for document in batch:
        run.known.note(document.key, Entry("", run.fingerprint, "indexed"))
        run.changed_corpora.add(document.corpus)


def _report_failure(run: Run, document: Document, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"
    where = document.path or document.document_id
    run.report.failed.append(ReadIssue(where, reason, key=document.key))
    # A model or a server that fails may work tomorrow; anything else fails again on the same
    # content.
    passing = isinstance(error, EmbeddingError) or (
        isinstance(error, DatabaseError) and error.kind != "unfit_value"
    )
    content = None if passing else content_hash(document)
    record_issue(run, document.key, "failed", reason, content)
    run.failures_in_a_row += 1
    if run.failures_in_a_row >= FAILURES_IN_A_ROW:
        raise GaveUp(
            f"ended after {FAILURES_IN_A_ROW} documents in a row that could not be stored"
        ) from error
