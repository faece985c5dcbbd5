"""A sorted mapping in a scratch file, for as many entries as a source has documents.

Memory holds a page cache of fixed size, whatever the number of entries. The file has no name: it
ends with the process, even a killed one.
"""

import pickle
import sqlite3
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any, TypeVar

from operators.errors import CrosscorpusError

CACHE_KIB = 128

_ADD = "INSERT OR IGNORE INTO entries VALUES (?, ?)"

V = TypeVar("V")


class NoScratch(CrosscorpusError):
    """The scratch file cannot be written."""


class DiskDict(MutableMapping[bytes, V]):
    """A dict from bytes to anything that pickles, in the order of its keys. Close it.

    Don't change it during an iteration. A value that it returns is a copy.

    >>> entries = DiskDict[int]()
    >>> entries.update({b"b": 2, b"a": 1})
    >>> list(entries.items()), b"c" in entries
    ([(b'a', 1), (b'b', 2)], False)
    >>> entries.close()
    """

    def __init__(self) -> None:
        # Any thread may use it, but only one at a time.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._do(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._do("PRAGMA journal_mode = OFF")
        self._do("CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        self._do("BEGIN")  # never committed: nothing may outlive this

    def __getitem__(self, key: bytes) -> V:
        """The value at ``key``."""
        row = self._do("SELECT value FROM entries WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        value: V = pickle.loads(row[0])  # our own bytes: nobody else can open the file
        return value

    def __setitem__(self, key: bytes, value: V) -> None:
        """Store ``value`` at ``key``."""
        self._do("INSERT OR REPLACE INTO entries VALUES (?, ?)", (key, pickle.dumps(value)))

    def __delitem__(self, key: bytes) -> None:
        """Delete ``key``."""
        if self._do("DELETE FROM entries WHERE key = ?", (key,)).rowcount == 0:
            raise KeyError(key)

    def __iter__(self) -> Iterator[bytes]:
        """The keys, sorted."""
        return (key for (key,) in self._do("SELECT key FROM entries ORDER BY key"))

    def __len__(self) -> int:
        """The number of keys; counts them."""
        return int(self._do("SELECT count(*) FROM entries").fetchone()[0])

    def starting(self, prefix: bytes) -> Iterator[tuple[bytes, V]]:
        """The keys that begin with ``prefix``, sorted, with their values."""
        rows = self._do("SELECT key, value FROM entries WHERE key >= ? ORDER BY key", (prefix,))
        for key, value in rows:
            if not key.startswith(prefix):
                return
            yield key, pickle.loads(value)

    def add(self, key: bytes, value: V) -> bool:
        """Store ``value`` at ``key`` if nothing is there; whether nothing was."""
        return self._do(_ADD, (key, pickle.dumps(value))).rowcount == 1

    def add_all(self, entries: Iterable[tuple[bytes, V]]) -> int:
        """Store each value at its key if nothing is there; how many were stored."""
        rows = ((key, pickle.dumps(value)) for key, value in entries)
        return self._do(_ADD, rows, many=True).rowcount

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _do(self, statement: str, values: Any = (), *, many: bool = False) -> sqlite3.Cursor:
        try:
            run = self._file.executemany if many else self._file.execute
            return run(statement, values)
        except sqlite3.DatabaseError as exc:  # after a full disk, the contents are damaged
            raise NoScratch(
                f"no scratch file: {exc}; make room in the folder for temporary files (TMPDIR)"
            ) from exc
