"""What the ledger has of one corpus and repo, kept up with what a run does."""

from __future__ import annotations

from sys import intern

from operators.postgres.store import Store
from operators.postgres.write import ledger


class Known:
    """The ledger's entries of one corpus and repo.

    Attributes:
        entries: content hash, fingerprint, state and reason by document.
        unseen: the documents that this kind of source brought in and the scan has not met.
        before: how many they were when the run began.
    """

    def __init__(self, store: Store, scope: tuple[str, str], reader: str) -> None:
        self.entries: dict[str, tuple[str | None, str | None, str, str | None]] = {
            document_id: (content, made_with and intern(made_with), intern(state), reason)
            for document_id, content, made_with, state, reason in ledger(store, *scope).iter_rows()
        }
        kind = reader.partition("/")[0] + "/"
        self.unseen = {
            document_id
            for document_id, (_, made_with, _, _) in self.entries.items()
            if made_with is not None and made_with.startswith(kind)
        }
        self.before = len(self.unseen)
