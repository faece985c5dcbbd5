"""The scan: what a source has, compared with the ledger; new documents wait for a batch."""

from dataflow.ingestion.ledger_snapshot import GOOD
from dataflow.ingestion.run import Run
from dataflow.ingestion.store_batch import GaveUp, record_issue, store_waiting
from operators.errors import CrosscorpusError
from operators.foundation.disk_dict import NoScratch
from operators.sources.protocol import Document, Key, LazyDocument, ReadIssue, content_hash


def scan(run: Run, batch_documents: int, batch_characters: int) -> bool:
    """Read the whole source; return whether every document of it was met.

    Raises:
        NoScratch: the folder for temporary files is full.
    """
    try:
        return _scan(run, batch_documents, batch_characters)
    except GaveUp as exc:
        run.report.failed.append(ReadIssue("the run", str(exc)))
        return False


def _scan(run: Run, batch_documents: int, batch_characters: int) -> bool:
    complete = True
    characters = 0
    items = run.source.scan()
    while True:
        if run.changed_corpora and run.time_is_up():
            run.report.stopped_at = run.source.fraction()
            complete = False
            break
        try:
            item = next(items, None)
        except NoScratch:
            raise
        except (CrosscorpusError, OSError) as exc:
            run.report.failed.append(ReadIssue("the scan", f"ended early: {exc}"))
            complete = False
            break
        if item is None:
            break
        run.met |= not isinstance(item, ReadIssue) or (
            item.key is not None and item.state != "left_out"
        )
        if isinstance(item, LazyDocument) and _is_new(run, item.key, item.content):
            item = item.read()
        if isinstance(item, ReadIssue):
            complete &= _take_issue(run, item)
        elif isinstance(item, Document) and _is_new(run, item.key, content_hash(item), item.part):
            if kept := run.known.more_than(item):
                run.report.documents_unchanged += 1
                _take_issue(run, kept)
            else:
                run.waiting.append(item)
                run.read += 1
                characters += len(item.text)
        if len(run.waiting) >= batch_documents or characters >= batch_characters:
            store_waiting(run)
            characters = 0
        elif run.report_is_due:
            run.tell("scan")
    store_waiting(run)
    return complete


def _is_new(run: Run, key: Key, content: str, part: bool = False) -> bool:
    """Whether the store has to take this document; notes it as met."""
    entry = run.known.meet(key)
    if entry is None:
        return True
    same = entry[:2] == (content, run.fingerprint)
    if same and entry.failed_reason is not None:
        run.cured.add(key)
    failure = f"{content} {run.fingerprint}"
    failures = (failure, f"part {failure}") if part else (failure,)
    if not same and entry.failed_with not in failures:
        return True
    run.report.documents_unchanged += 1
    run.report.known_failures += entry.state not in GOOD or not same
    return False


def _take_issue(run: Run, issue: ReadIssue) -> bool:
    """Report it; return whether the scan still knows every document it should have met."""
    (run.report.failed if issue.failed else run.report.skipped).append(issue)
    if issue.key is None:
        return not issue.failed
    if issue.withdrawn:
        if run.known.meet(issue.key) is not None:
            run.delete(*issue.key[:2], [issue.key[2]])
    elif issue.state != "left_out":
        record_issue(run, issue.key, issue.state, issue.reason, issue.content)
    return True
