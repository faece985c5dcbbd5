"""The scan: a source compared with the ledger; new documents are queued for a batch."""

from collections.abc import Iterator
from dataclasses import replace

from dataflow.ingestion.run import Run
from dataflow.ingestion.store_batch import GaveUp, store_waiting
from operators.errors import CrosscorpusError
from operators.foundation.disk_dict import NoScratch
from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, content_hash


def scan(run: Run, batch_documents: int, batch_characters: int) -> bool:
    """Read the whole source; return whether the scan is complete.

    Raises:
        NoScratch: the folder for temporary files is full.
    """
    complete = True
    try:
        for item in _items(run):
            complete &= _take(run, item)
            full = run.waiting_characters >= batch_characters
            if full or len(run.waiting) >= batch_documents:
                store_waiting(run)
            elif run.report_is_due:
                run.tell("scan")
        store_waiting(run)
    except GaveUp as exc:
        run.fail("the run", str(exc))
        return False
    return complete


def _items(run: Run) -> Iterator[Item]:
    """The items of the source; an issue comes last if it ended early."""
    try:
        yield from run.source.scan()
    except NoScratch:
        raise
    except (CrosscorpusError, OSError) as exc:
        yield ReadIssue("the scan", f"ended early: {exc}")


def _take(run: Run, item: Item) -> bool:
    """Queue a new document; return whether the scan is still complete."""
    if isinstance(item, LazyDocument) and run.is_new(item.key, item.content):
        item = item.read()
    if isinstance(item, Document) and run.is_new(item.key, content := content_hash(item)):
        run.take(replace(item, source_hash=content))  # it is not computed again
    if not isinstance(item, ReadIssue):
        return True
    (run.report.failed if item.failed else run.report.skipped).append(item)
    if item.key is None:
        return not item.failed
    if item.withdrawn:
        if run.known.meet(item.key) is not None:
            run.delete(*item.key[:2], [item.key[2]])
    elif item.state != "left_out":
        run.record_issue(item.key, item.state, item.reason, item.content)
    return True
