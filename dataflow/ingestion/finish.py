"""The end of a run: deletions after a complete scan, indexes, versions, and the run's record."""

import time
from collections import Counter
from itertools import islice

from dataflow.ingestion.ledger_snapshot import Scope
from dataflow.ingestion.run import IngestReport, Run
from dataflow.ingestion.vectors import Embedded, embed_missing
from dataflow.ingestion.version_discovery import find_versions
from operators.foundation.sanitize import replaced_characters
from operators.postgres.errors import DatabaseError
from operators.postgres.schema.indexes import make_searchable, pending_corpora
from operators.postgres.store import ModelMismatch
from operators.postgres.write.ingestion_runs import end_run, scopes_before
from operators.postgres.write.left_out import record_left_out, record_undeleted
from operators.sources.secrets import redacted

LARGEST_VANISHED_SHARE = 0.3
"""The share of a repository's documents in one corpus; deleting more needs the caller's consent."""

_DELETED_AT_ONCE = 500
_EMPTY = "the source is empty; none of its {} documents was deleted"
_MANY = (
    "{} of {} documents are gone from the source; none was deleted: is it whole? If so, allow it "
    "(--allow-mass-delete)"
)


def delete_vanished(run: Run, complete: bool, allow_mass_delete: bool) -> None:
    """Delete what this kind of source brought in before and a complete scan has not met.

    Documents that the source knows to be deleted are always deleted. Of the rest, a source without
    any document may not be mounted: then nothing is deleted, whatever the caller allows. Missing
    documents that stay are recorded, so that answers note them.
    """
    empty = not run.known.scopes
    scopes = (
        run.source.scopes
        or run.known.scopes
        or scopes_before(run.store, run.number, run.known.kind)
    )
    undeleted: dict[Scope, tuple[int, int, str] | None] = {}
    for scope in scopes:
        if complete:
            undeleted[scope] = _delete_vanished(run, scope, allow_mass_delete, empty)
        else:
            gone, before = sum(1 for _ in run.known.vanished(scope)), run.known.before(scope)
            undeleted[scope] = (gone, before, "empty" if empty else "unread") if gone else None
    record_undeleted(run.store, run.source.reader, undeleted)


def keep_left_out(run: Run) -> None:
    """Record in the store what a complete scan left out on purpose, and why.

    A name that contains a secret is not stored.
    """
    left_out = [
        (issue.key, issue.reason)
        for issue in run.report.skipped
        if issue.key is not None
        and (issue.withdrawn or issue.state == "left_out")
        and redacted(issue.key[2]) == issue.key[2]
    ]
    record_left_out(run.store, run.source.reader, run.source.scopes or (), left_out)


def finish(run: Run) -> IngestReport:
    """Build the keyword indexes, also those that an earlier, interrupted run left unbuilt."""
    corpora = run.changed_corpora | set(pending_corpora(run.store))
    if corpora:
        run.tell("finish")
        make_searchable(run.store, sorted(corpora))
    find_versions(run.store, lambda: run.tell("finish"))
    report = run.report
    end_run(run.store, run.number, report.ok, report.counts())
    report.replaced += replaced_characters() - run.replaced_before
    report.words_seconds = time.monotonic() - run.began
    return report


def embed(run: Run) -> None:
    """Embed the chunks of the collection; a model that fails is a failure of the run."""
    report = run.report

    def on_event(done: Embedded) -> None:
        report.embedded = done.embedded
        run.tell("embed", done)

    try:
        done = embed_missing(run.store, run.embedder, graph=run.graph, on_event=on_event)
        report.unembedded, report.embedding_seconds = done.left, done.seconds
        for document_id, reason in done.failed:
            run.fail(document_id, f"words alone find a part of it: {reason}")
    except (DatabaseError, ModelMismatch):
        raise
    except Exception as error:  # a model of the user's may raise anything
        run.fail("the vectors", f"words alone find what has none: {type(error).__name__}: {error}")


def _delete_vanished(
    run: Run, scope: Scope, allow_mass_delete: bool, empty: bool
) -> tuple[int, int, str] | None:
    """Delete a scope's missing documents; return how many of how many documents stay, and why."""
    corpus, repo = scope

    def left_out(name: str) -> bool:
        return run.source.left_out((corpus, repo, name))

    counts = Counter(left_out(name) for name in run.known.vanished(scope))
    gone, before = counts[False], run.known.before(scope) - counts[True]
    many = gone > LARGEST_VANISHED_SHARE * before and not allow_mass_delete
    refused = gone > 0 and (empty or many)
    names = (n for n in run.known.vanished(scope) if not refused or left_out(n))
    while part := list(islice(names, _DELETED_AT_ONCE)):
        run.delete(corpus, repo, part)
        run.tell("delete")
    if not refused:
        return None
    where = f"{corpus} of {repo}" if repo else corpus
    run.fail(where, _EMPTY.format(gone) if empty else _MANY.format(gone, before))
    return gone, before, "empty" if empty else "many"
