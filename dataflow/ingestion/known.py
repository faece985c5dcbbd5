"""What the ledger has of one corpus and repo, kept up with what a run does."""

from __future__ import annotations

from sys import intern
from typing import NamedTuple

from operators.postgres.ledger import ledger
from operators.postgres.store import Store

GOOD = frozenset(("indexed", "empty"))
"""States of documents that were read."""


class Entry(NamedTuple):
    """What the ledger says of a document: see :data:`operators.postgres.ledger.LEDGER`."""

    content: str | None
    fingerprint: str | None
    state: str
    reason: str | None = None
    failed_with: str | None = None
    failed_reason: str | None = None


class Known:
    """The ledger's entries of one corpus and repo.

    Attributes:
        entries: by document.
        unseen: the documents that this kind of source brought in and the scan has not met.
        before: how many they were when the run began.
    """

    def __init__(self, store: Store, scope: tuple[str, str], reader: str) -> None:
        self.entries = {
            document_id: Entry(content, made_with and intern(made_with), intern(state), *failure)
            for document_id, content, made_with, state, *failure in ledger(
                store, *scope
            ).iter_rows()
        }
        kind = reader.partition("/")[0] + "/"
        self.unseen = {
            document_id
            for document_id, entry in self.entries.items()
            if entry.fingerprint is not None and entry.fingerprint.startswith(kind)
        }
        self.before = len(self.unseen)
