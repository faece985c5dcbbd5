"""Records what a scan left out on purpose, for ``--explain-chunk``, and what it left undeleted.

Left-out documents are not in the ledger, because those are counted, and deleted when they vanish.
"""

import json
from collections.abc import Collection, Iterable, Mapping

from operators.foundation.sanitize import clean_text
from operators.postgres.store import Connection, Store
from operators.postgres.undeleted_notes import SOURCE
from operators.postgres.write.source_ownership import owner_key
from operators.postgres.write.sync_state import write_state

Scope = tuple[str, str]
"""corpus, repo"""


def record_left_out(
    store: Store,
    reader: str,
    scopes: Collection[Scope],
    found: Iterable[tuple[tuple[str, str, str], str]],
) -> None:
    """Record what a complete scan left out, and delete the previous scan's record.

    ``scopes`` were scanned: (corpus, repo) pairs. ``found`` says why each key is left out.
    """
    rows = {}
    for (corpus, repo, document_id), reason in found:
        row = {"corpus": corpus, "repo": repo, "document_id": document_id, "reason": reason}
        clean = {name: clean_text(text) for name, text in row.items()}
        key = (_source(reader, corpus, repo), clean["document_id"])
        rows[key] = json.dumps(clean | {"chunks": 0})

    sources, names = [source for source, _ in rows], [name for _, name in rows]

    def work(conn: Connection) -> None:
        conn.execute(
            "DELETE FROM sync_state WHERE source = ANY(%s)"
            " AND (source, name) NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))",
            ([_source(reader, *scope) for scope in scopes], sources, names),
        )
        write_state(conn, [(*key, value) for key, value in rows.items()])

    store.run(work)


def record_undeleted(
    store: Store, reader: str, left: Mapping[Scope, tuple[int, int, str] | None]
) -> None:
    """Record what a run of ``reader`` left in each scope, and delete the earlier record.

    Args:
        left: the number of documents that it did not see, of all that it could have seen, and why
            they stay (:data:`operators.postgres.undeleted_notes.REASONS`); None: nothing is left.
    """
    owners = {scope: owner_key(reader, *scope) for scope in left}
    rows = []
    for (corpus, repo), counts in sorted(left.items()):
        if counts is not None:
            documents, of, why = counts
            record = {"corpus": corpus, "repo": repo, "documents": documents, "of": of}
            value = json.dumps(record | {"why": why})
            rows.append((SOURCE, owners[corpus, repo], value))

    def work(conn: Connection) -> None:
        conn.execute(
            "DELETE FROM sync_state WHERE source = %s AND name = ANY(%s)",
            (SOURCE, sorted(owners.values())),
        )
        write_state(conn, rows)

    store.run(work)


def _source(reader: str, corpus: str, repo: str) -> str:
    return f"left_out:{owner_key(reader, corpus, repo)}"
