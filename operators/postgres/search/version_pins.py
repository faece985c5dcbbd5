"""The chunks of the versions that a query pins, looked up once for all its searches.

A pinned version selects the document of each topic that has it, and excludes the topic's other
documents. Their chunks are cached until a lineage changes. So a search may use a state that is a
second old; when its hits are read, versions are looked up again, by
:func:`operators.postgres.search.version_filters.by_documents`.
"""

from operators.postgres.search.batches import Deadline, run
from operators.postgres.search.filters import Filter
from operators.postgres.search.version_filters import NO_CHUNKS, PINNED_CHANGELOGS, pinned_documents
from operators.postgres.store import Connection, Store, versions_state

MOST_KEPT = 64
"""Maximum number of pins in the cache."""


def pinned_chunks(store: Store, deadline: Deadline, corpus: str, scope: Filter) -> tuple[str, str]:
    """The chunks of ``corpus`` that ``scope``'s pinned versions include, and those they exclude.

    Without an ``as_of`` the lists lack superseded chunks of other versions.

    Raises:
        SearchTimeout: the deadline has passed.
    """
    if not scope.pinned:
        return NO_CHUNKS, NO_CHUNKS
    dated = scope.as_of is not None
    return store.cache.pinned.get(
        (corpus, scope.pinned, dated),
        versions_state(store),
        lambda: run(store, deadline, lambda conn: _chunks(conn, corpus, scope, dated=dated)),
        most=MOST_KEPT,
    )


def _chunks(conn: Connection, corpus: str, scope: Filter, *, dated: bool) -> tuple[str, str]:
    """Array literals of the chunks of the pinned versions, and of the others of their topics.

    For a changelog, the others are the releases that are not pinned.
    """
    parameters = {"corpus": corpus, "dated": dated}
    statement = f"""
        WITH asked AS MATERIALIZED ({pinned_documents(scope, parameters)})
        SELECT n.chunk_id, n.document_key IN (SELECT a.document_key FROM asked a) AS inside
        FROM document_versions v
        JOIN chunks n ON n.corpus = %(corpus)s AND n.document_key = v.document_key
        LEFT JOIN superseded_chunks s ON NOT %(dated)s AND s.corpus = %(corpus)s
            AND s.chunk_id = n.chunk_id AND s.relation <> 'gone'
        WHERE v.lineage_id IN (SELECT a.lineage_id FROM asked a)
          AND (s.chunk_id IS NULL OR v.document_key IN (SELECT a.document_key FROM asked a))
        UNION SELECT r.chunk_id, r.version = ANY(%(pins)s::text[])
        FROM releases r
        WHERE r.corpus = %(corpus)s AND r.document_key IN ({PINNED_CHANGELOGS.format("")})
        ORDER BY 1
    """
    rows = conn.execute(statement, parameters).fetchall()
    return _literal(rows, inside=True), _literal(rows, inside=False)


def _literal(rows: list[tuple[int, bool]], *, inside: bool) -> str:
    return "{" + ",".join(str(chunk_id) for chunk_id, within in rows if within is inside) + "}"
