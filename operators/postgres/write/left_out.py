"""What a scan left out of a source on purpose, so that ``--explain-chunk`` can say why.

It is not in the ledger, because documents there are counted, and deleted when they disappear.
"""

import json
from collections.abc import Collection, Iterable

from operators.foundation.sanitize import clean_text
from operators.postgres.store import Connection, Store
from operators.postgres.write.source_ownership import owner_key
from operators.postgres.write.sync_state import write_state

LEFT_OUT = """
    SELECT (jsonb_populate_record(NULL::documents, value::jsonb)).*
    FROM sync_state WHERE starts_with(source, 'left_out:')
"""
"""SQL query: what was left out, as rows of the ledger without chunks."""


def record_left_out(
    store: Store,
    reader: str,
    scopes: Collection[tuple[str, str]],
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


def _source(reader: str, corpus: str, repo: str) -> str:
    return f"left_out:{owner_key(reader, corpus, repo)}"
