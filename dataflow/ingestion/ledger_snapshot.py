"""The ledger's entries of a source's documents, updated as a run meets and stores them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from operators.foundation.disk_dict import DiskDict
from operators.foundation.sanitize import clean_text
from operators.postgres.store import Store
from operators.postgres.write.ingestion_runs import meet_corpus
from operators.postgres.write.ledger import Entry, read_entries
from operators.postgres.write.source_ownership import source_kind
from operators.sources.protocol import Key

GOOD = frozenset(("indexed", "empty"))
"""States of documents that were read."""

Scope = tuple[str, str]
"""corpus, repo"""


class LedgerSnapshot:
    """The ledger's entries for the corpora and repos that one run reads. Close it.

    They are in a scratch file: of each, memory has one byte.
    """

    def __init__(self, store: Store, reader: str, run: int) -> None:
        """Start with no corpus, for the documents of ``reader``; ``run`` is a number."""
        self.store, self.run = store, run
        self.kind = source_kind(reader) + "/"
        self._entries = DiskDict[tuple[Any, ...]]()  # number, fields: an Entry pickles slower
        self._marks = bytearray()  # by number: 1 if the scan has met the document
        self._met: Counter[Scope] = Counter()  # documents of this kind, by scope

    @property
    def scopes(self) -> list[Scope]:
        """The corpora and repos so far."""
        return sorted(self._met)

    def meet(self, key: Key) -> Entry | None:
        """The ledger's entry of a document, which is marked as seen by the scan."""
        scope = key[:2]
        self._read(scope)
        numbered = self._entries.get(_name(key))
        if numbered is None:
            return None
        number, entry = numbered[0], Entry(*numbered[1:])
        if not self._marks[number]:
            self._marks[number] = 1
            self._met[scope] += self._has_kind(entry)
        return entry

    def note(self, key: Key, entry: Entry) -> None:
        """Replace the ledger's entry of a document by ``entry``."""
        numbered = self._numbered(entry)
        self._entries[_name(key)] = numbered
        self._marks[numbered[0]] = 1

    def vanished(self, scope: Scope) -> Iterator[str]:
        """The documents of this kind of source that the scan has not met, sorted."""
        self._read(scope)
        prefix = _name((*scope, ""))
        for name, (number, *fields) in self._entries.starting(prefix):
            if not self._marks[number] and self._has_kind(Entry(*fields)):
                yield name[len(prefix) :].decode()

    def before(self, scope: Scope) -> int:
        """How many documents this kind of source had brought in when the run began."""
        vanished = sum(1 for _ in self.vanished(scope))
        return self._met[scope] + vanished

    def close(self) -> None:
        """Close and delete the scratch file."""
        self._entries.close()

    def _read(self, scope: Scope) -> None:
        if scope in self._met:
            return
        meet_corpus(self.store, self.run, scope[0])
        self._met[scope] = 0

        def take(rows: Iterator[tuple[str, Entry]]) -> None:
            named = ((_name((*scope, name)), self._numbered(entry)) for name, entry in rows)
            self._entries.add_all(named)  # again after a lost connection

        read_entries(self.store, *scope, take)

    def _numbered(self, entry: Entry) -> tuple[Any, ...]:
        self._marks.append(0)
        return len(self._marks) - 1, *entry

    def _has_kind(self, entry: Entry) -> bool:
        return entry.fingerprint is not None and entry.fingerprint.startswith(self.kind)


def _name(key: Key) -> bytes:
    return "\0".join(map(clean_text, key)).encode()  # as the ledger has it
