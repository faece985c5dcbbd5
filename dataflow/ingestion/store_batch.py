"""Stores the queued documents: as one batch through the graph, or one by one if that fails."""

from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.ingestion.run import Run
from operators.embedding.protocol import EmbeddingError
from operators.foundation.disk_dict import NoScratch
from operators.foundation.principals import ALLOWED
from operators.postgres.errors import DatabaseError
from operators.postgres.store import ModelMismatch
from operators.postgres.write.document_classes import allow_document
from operators.postgres.write.document_writer import RulesChanged
from operators.sources.protocol import Document, ReadIssue, content_hash, document_frame
from operators.sources.rights_rules import with_rights

FAILURES_IN_A_ROW = 25
"""After so many failed documents the cause is not a document but the model, and the run ends."""

_DOCUMENT_ERRORS = {"unfit_value", "name_taken", "other", "timed_out"}
"""Kinds of database errors that other documents may not have; only the first is permanent."""


class GaveUp(Exception):
    """Too many documents in a row could not be stored."""


def store_waiting(run: Run) -> None:
    """Store the queued documents; if the batch fails, each of them alone.

    Raises:
        GaveUp: ``FAILURES_IN_A_ROW`` consecutive documents failed.
        ModelMismatch: the collection was made again with another model.
        DatabaseError: the server accepts no document at all.
        NoScratch: the folder for temporary files is full.
    """
    if batch := run.take_waiting():
        _store(run, batch)


def _store(run: Run, batch: list[Document]) -> None:
    inputs = {
        "batch": batch,
        "fingerprint": run.fingerprint,
        "rights": run.rights,
        "store": run.store,
        "embedder": run.embedder,
    }
    try:
        with quiet_hamilton():
            made = run.graph.execute(["written", "ledger_entries"], inputs=inputs)
        noted = made["ledger_entries"].drop_nulls("note").select("document_id", "note").iter_rows()
        run.report.notes += [ReadIssue(where, note, failed=False) for where, note in noted]
        run.note_stored(batch, made["written"])
    except RulesChanged:
        run.read_rights()
        _store(run, batch)
    except Exception as exc:
        is_document_error = not isinstance(exc, DatabaseError) or exc.kind in _DOCUMENT_ERRORS
        if isinstance(exc, ModelMismatch | NoScratch) or not is_document_error:
            raise
        if len(batch) == 1:
            _report_failure(run, batch[0], exc)
        else:
            for document in batch:
                _store(run, [document])
    run.tell("scan")


def _report_failure(run: Run, document: Document, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"
    run.fail(document.path or document.document_id, reason, document.key)
    # A failed model or server may work at a later retry; anything else fails again on the same
    # content.
    passing = isinstance(error, EmbeddingError) or (
        isinstance(error, DatabaseError) and error.kind != "unfit_value"
    )
    _allow(run, document)
    content = None if passing else content_hash(document)
    run.record_issue(document.key, "failed", reason, content)
    if run.failures_in_a_row >= FAILURES_IN_A_ROW:
        raise GaveUp(
            f"ended after {FAILURES_IN_A_ROW} documents in a row that could not be stored"
        ) from error


def _allow(run: Run, document: Document) -> None:
    """Apply a failed document's current rights to its stored version."""
    run.read_rights()
    try:
        frame = with_rights(document_frame([document]), run.rights)
        ((allowed, by),) = frame.select("allowed", "allowed_by").iter_rows()
    except Exception:  # a reader of the user's may give anything: nobody can read who may see it
        if run.rights.text or f'"{ALLOWED}"' in str(document.metadata):
            run.delete(*document.key[:2], [document.document_id])
        return
    try:
        allow_document(run.store, document.key, allowed, by, run.rights.text)
    except RulesChanged:
        _allow(run, document)
