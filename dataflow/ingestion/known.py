"""What the ledger has of one corpus and repo, kept up with what a run does."""

from __future__ import annotations

from operators.postgres.ledger import read_entries
from operators.postgres.store import Store

GOOD = frozenset(("indexed", "empty"))
"""States of documents that were read."""


class Known:
    """The ledger's entries of one corpus and repo.

    Attributes:
        entries: by document.
        unseen: the documents that this kind of source brought in and the scan has not met.
        before: how many they were when the run began.
    """

    def __init__(self, store: Store, scope: tuple[str, str], reader: str) -> None:
        self.entries = read_entries(store, *scope)
        kind = reader.partition("/")[0] + "/"
        self.unseen = {
            document_id
            for document_id, entry in self.entries.items()
            if entry.fingerprint is not None and entry.fingerprint.startswith(kind)
        }
        self.before = len(self.unseen)
