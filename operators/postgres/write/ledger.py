"""The ledger: the record of every document that a scan has seen, with or without chunks."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from psycopg.rows import TupleRow

from operators.foundation.sanitize import clean_text
from operators.postgres.document_key import document_key
from operators.postgres.schema.partitions import lock_writers
from operators.postgres.server_cursor import over_rows
from operators.postgres.store import Connection, Store
from operators.postgres.write.document_writer import write_ledger
from operators.postgres.write.term_statistics import take_out

_ENTRIES = """
    SELECT document_id, content_hash, fingerprint, state, reason, failed_with, failed_reason
    FROM documents WHERE corpus = %s AND repo = %s
"""
_NAMES = ("corpus", "repo", "document_id", "content_hash", "fingerprint", "state", "reason")
_FAILURE = {"document_key": "uuid", **dict.fromkeys(_NAMES, "text"), "chunks": "int4"}


def record_failure(
    store: Store,
    corpus: str,
    repo: str,
    document_id: str,
    reason: str,
    state: str = "failed",
    content_hash: str | None = None,
    fingerprint: str | None = None,
) -> None:
    """Record that a document has no chunks, and why; delete its earlier chunks.

    ``state``: ``failed``, ``no_text`` or ``encrypted``.
    """
    key = document_key(corpus, repo, document_id)
    named = [clean_text(part) for part in (corpus, repo, document_id)]
    row = (key, *named, content_hash, fingerprint, state, clean_text(reason), 0)

    def work(conn: Connection) -> None:
        lock_writers(conn, [corpus])
        write_ledger(conn, _FAILURE, [row])
        take_out(conn, corpus, [key])

    store.run(work)
    store.forget_info()


def record_failed_version(
    store: Store, corpus: str, repo: str, document_id: str, reason: str, failed_with: str | None
) -> None:
    """Record that a newer version of a document failed; the stored one stays searchable.

    ``failed_with``: its content hash and fingerprint, if it will fail until one of them changes.
    """
    store.execute(
        "UPDATE documents SET failed_with = %s, failed_reason = %s WHERE document_key = %s",
        (failed_with, clean_text(reason), document_key(corpus, repo, document_id)),
    )


class Entry(NamedTuple):
    """The record of a document."""

    content: str | None  # the hash of what was read
    fingerprint: str | None
    state: str  # indexed, empty, failed, no_text or encrypted
    reason: str | None = None  # why it has no chunks; else a note on how it was read
    failed_with: str | None = None  # content hash and fingerprint of a later version that failed
    failed_reason: str | None = None


def read_entries(
    store: Store, corpus: str, repo: str, take: Callable[[Iterator[tuple[str, Entry]]], None]
) -> None:
    """Call ``take`` with the ids and the records of the documents of ``corpus`` in ``repo``.

    It reads in batches. After a lost connection, ``take`` gets some documents again.
    """

    def work(rows: Iterator[TupleRow]) -> None:
        take((document_id, Entry(*entry)) for document_id, *entry in rows)

    over_rows(store, _ENTRIES, (clean_text(corpus), clean_text(repo)), work)
