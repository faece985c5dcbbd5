"""Records which documents a run left undeleted."""

import json
from collections.abc import Mapping

from operators.postgres.store import Connection, Store
from operators.postgres.undeleted_notes import SOURCE
from operators.postgres.write.source_ownership import owner_key
from operators.postgres.write.sync_state import write_state

Scope = tuple[str, str]
"""corpus, repo"""


def record_undeleted(
    store: Store, reader: str, held: Mapping[Scope, tuple[int, int, str] | None]
) -> None:
    """Record what a run of ``reader`` left in each scope, and delete the earlier record.

    Args:
        held: the number of documents that it did not see, of all that it could have seen, and why
            they stay (:data:`operators.postgres.undeleted_notes.REASONS`); None: nothing is left.
    """
    owners = {scope: owner_key(reader, *scope) for scope in held}
    rows = []
    for (corpus, repo), counts in sorted(held.items()):
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
