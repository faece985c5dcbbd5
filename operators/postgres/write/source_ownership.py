"""The source that fills a corpus and repo: another one would delete its documents.

One run at a time reads it: two would count and write the same documents. The right to read is a
lock of an open transaction on the server, so that it is released however the process ends.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial

from operators.errors import CrosscorpusError
from operators.foundation.sanitize import clean_text
from operators.postgres.connection import connect
from operators.postgres.errors import explained
from operators.postgres.store import Connection, Store
from operators.postgres.write.sync_state import save_items, sync_value, write_state

_NAME = "addresses"
"""The name in ``sync_state``; its ``source`` is the kind of source, the corpus and the repo."""

_PATIENCE_S = 2.0
"""Wait for the server to notice that the process of a run was killed."""

_HOLDER = """
    SELECT a.application_name, a.xact_start FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(%s, 0)
"""


def source_kind(reader: str) -> str:
    """The kind of source that ``reader`` reads, without the reader's version."""
    return reader.partition("/")[0]


def owner_key(reader: str, corpus: str, repo: str) -> str:
    """The key in ``sync_state`` for the source that ``reader`` reads into a corpus and repo."""
    return clean_text(f"{source_kind(reader)} {corpus} {repo}")


def kept_choice(store: Store, owner: str, name: str, given: str | None) -> str | None:
    """``given``, which is stored under ``name``; if it is None, the value stored before.

    ``owner`` is an :func:`owner_key`.
    """
    before: str | None
    (before,) = sync_value(store, owner, name).values() or (None,)
    if given is not None and given != before:
        save_items(store, owner, [], {name: {"value": given}})
    return before if given is None else given


def take_ownership(
    store: Store,
    reader: str,
    scopes: Sequence[tuple[str, str]],
    addresses: Sequence[str],
    *,
    relocated: bool = False,
) -> list[str]:
    """Record that the source at ``addresses`` fills ``scopes``, (corpus, repo) pairs.

    It is the same source if it shares an address with the last run, or was ``relocated``. Sources
    of different kinds don't affect each other's documents. No ``addresses``: no check.

    Returns:
        The other repos whose documents were read from one of ``addresses``.

    Raises:
        CrosscorpusError: documents there belong to another source.
    """
    if not addresses:
        return []
    scopes, value = sorted(scopes), json.dumps(list(addresses))

    def work(conn: Connection) -> list[str]:
        filled = partial(_has_documents, conn, reader)
        for corpus, repo in scopes:
            row = conn.execute(
                "SELECT value FROM sync_state WHERE source = %s AND name = %s FOR UPDATE",
                (owner_key(reader, corpus, repo), _NAME),
            ).fetchone()
            before: list[str] = json.loads(row[0]) if row else list(addresses)
            same = relocated or not set(before).isdisjoint(addresses)
            if not same and filled(corpus, repo):
                raise CrosscorpusError(
                    f"{repo!r} in {corpus} is taken: it was read from {_shown(before)}, and this "
                    f"is {_shown(addresses)}; give this one another name (--repo), or, if it is "
                    "the same at a new place, say so (--relocated)"
                )
        write_state(conn, [(owner_key(reader, *scope), _NAME, value) for scope in scopes])
        rows = conn.execute(
            "SELECT source, value FROM sync_state WHERE name = %s AND starts_with(source, %s)",
            (_NAME, f"{source_kind(reader)} "),
        ).fetchall()
        elsewhere = {  # (corpus, repo)
            tuple(source.split(" ", 2)[1:])
            for source, value in rows
            if not set(addresses).isdisjoint(json.loads(value))
        }
        return sorted({repo for corpus, repo in elsewhere - {*scopes} if filled(corpus, repo)})

    return store.run(work)


@contextmanager
def source_turn(
    store: Store,
    reader: str,
    scopes: Sequence[tuple[str, str]],
    on_wait: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Hold the lock on the source of ``scopes``, so that one run at a time reads it.

    Without ``scopes`` there is no lock. If another run holds it, ``on_wait`` is called once with a
    description of that run, and this one waits. None: do not wait.

    Raises:
        CrosscorpusError: another run holds the lock; says which, and since when.
    """
    if not scopes:
        yield
        return
    name = f"read {store.schema} {owner_key(reader, *min(scopes))}"
    me = f"process {os.getpid()} on {socket.gethostname()}"
    give_up = time.monotonic() + _PATIENCE_S
    with closing(connect(store.dsn)) as conn:
        with explained(store.dsn):
            conn.execute("SELECT set_config('application_name', %s, true)", (me,))
            lock = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
            while conn.execute(lock, (name,)).fetchone() != (True,):
                if time.monotonic() > give_up:
                    who, since = conn.execute(_HOLDER, (name,)).fetchone() or (None, None)
                    holder = who or "a process"
                    holder += f", since {since.astimezone():%H:%M}" if since else ""
                    if on_wait is None:
                        raise CrosscorpusError(
                            f"another run reads this source ({holder}): end it, or wait for its"
                            " end (--in-turn)"
                        )
                    on_wait(holder)
                    give_up = float("inf")
                time.sleep(0.1)
            # The statement before it keeps its snapshot, and no VACUUM removes rows deleted since.
            conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield


def with_and_without_repo(store: Store, reader: str) -> list[tuple[str, int]]:
    """Corpora, and how many documents of each ``reader`` read with and without a repository."""
    rows = store.rows(
        "SELECT corpus, count(DISTINCT document_id) FROM documents a"
        " JOIN documents b USING (corpus, document_id) WHERE a.repo = '' AND b.repo <> ''"
        " AND starts_with(a.fingerprint, %(of)s) AND starts_with(b.fingerprint, %(of)s)"
        " GROUP BY 1 ORDER BY 1",
        {"of": source_kind(reader) + "/"},
    )
    return [(corpus, n) for corpus, n in rows]


def _has_documents(conn: Connection, reader: str, corpus: str, repo: str) -> bool:
    row = conn.execute(
        "SELECT 1 FROM documents"
        " WHERE corpus = %s AND repo = %s AND starts_with(fingerprint, %s) LIMIT 1",
        (clean_text(corpus), clean_text(repo), source_kind(reader) + "/"),
    ).fetchone()
    return row is not None


def _shown(addresses: Sequence[str]) -> str:
    first, *others = addresses
    return f"{first} ({', '.join(others)})" if others else first
