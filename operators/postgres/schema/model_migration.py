"""Migration to a new embedding model: new vectors beside the old ones, then one replacement.

The new vectors go into their own column (``chunks.next_embedding``), which no search reads. When
every chunk has a vector and every index is built, one transaction drops the old column, renames the
new one and records its model: a search sees the old state or the new one. An interrupted run
resumes.

The chunks do not change. They were cut for the old model's window, and the ledger still records its
space: the next ingestion of a source cuts its documents again if the new model's window differs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import LiteralString, TypeVar

import psycopg
from psycopg import sql

from operators.embedding.protocol import as_given
from operators.errors import CrosscorpusError
from operators.postgres.errors import explain
from operators.postgres.schema import indexes
from operators.postgres.schema.caller_views import drop_views, make_views, views_schema
from operators.postgres.schema.migrate import schema_exists
from operators.postgres.schema.partitions import exists, index_name
from operators.postgres.store import Connection, Store, add_vectors

T = TypeVar("T")

LOCK_SECONDS = 0.5
"""Lock timeout of the cut-over, so that no search waits longer behind it; it then retries."""

TRIES = 60

_NO_NEXT = "next_model = NULL, next_space = NULL, next_dimensions = NULL"


class ModelMigrationIncomplete(CrosscorpusError):
    """Chunks lack a vector of the new model, or a corpus its index."""


@dataclass(frozen=True)
class ModelMigration:
    """A running migration: all chunks, and those that still lack a vector of the new model."""

    model: str
    space: str
    dimensions: int
    chunks: int
    missing: int


def begin_model_migration(store: Store, model: str, space: str, dimensions: int) -> ModelMigration:
    """Add a column for the vectors of a new model, or continue the running migration.

    Raises:
        CrosscorpusError: the collection already has this model, has none yet, or a migration to
            another one is running.
    """
    named = f"collection {store.collection!r}"

    def work(conn: Connection) -> None:
        row = conn.execute("SELECT model, space, next_model, next_space FROM collection FOR UPDATE")
        current, current_space, coming, coming_space = row.fetchone() or (None,) * 4
        if current_space is None:
            raise CrosscorpusError(f"{named} has no model yet: ingest into it")
        if current_space == space:
            raise CrosscorpusError(f"{named} holds vectors of {current!r} already")
        if coming_space == space:
            return
        if coming_space is not None:
            raise CrosscorpusError(
                f"{named} is on its way to model {coming!r}: finish that first "
                f"(crosscorpus models migrate {as_given(coming)}), or give it up (--abandon)"
            )
        add_vectors(conn, "next_embedding", dimensions)
        conn.execute(
            "UPDATE collection SET next_model = %s, next_space = %s, next_dimensions = %s",
            (model, space, dimensions),
        )

    _soon(store, work)
    migration = pending_model_migration(store)
    if migration is None:
        raise CrosscorpusError(
            f"the model migration of {store.collection!r} was ended by another process"
        )
    return migration


def pending_model_migration(store: Store) -> ModelMigration | None:
    """The running model migration, if there is one."""

    def work(conn: Connection) -> ModelMigration | None:
        head = conn.execute(
            "SELECT next_model, next_space, next_dimensions FROM collection"
        ).fetchone()
        if head is None or head[1] is None:
            return None
        counted = conn.execute(
            "SELECT count(*), count(*) FILTER (WHERE next_embedding IS NULL) FROM chunks"
        ).fetchone() or (0, 0)
        return ModelMigration(*head, *counted)

    return store.run(work)


def build_next_indexes(store: Store) -> None:
    """Index the new vectors of each corpus that has too many chunks for an exact scan."""
    for corpus, chunks in store.run(_sizes):
        if chunks > indexes.EXACT_SCAN_MAX_ROWS:
            name = _next_index(corpus)
            indexes.build_vector_index(store, corpus, name, "next_embedding", rows=chunks)


def cut_over(store: Store) -> None:
    """Replace the old vectors by those of the new model, in one transaction.

    Writers wait for it. Searches wait at most ``LOCK_SECONDS`` at a time.

    Raises:
        ModelMigrationIncomplete: a vector or an index is missing; nothing has changed.
        CrosscorpusError: no migration is running, or searches keep the table locked.
    """
    _soon(store, lambda conn: _cut_over(conn, store.collection, store.schema))
    store.forget_info()


def abandon_model_migration(store: Store) -> bool:
    """Drop the new model's vectors; return whether there was a migration."""

    def work(conn: Connection) -> bool:
        head = conn.execute("SELECT next_space FROM collection FOR UPDATE").fetchone()
        if head in (None, (None,)):
            return False
        _without_views(conn, store.schema, "ALTER TABLE chunks DROP COLUMN next_embedding")
        conn.execute(f"UPDATE collection SET {_NO_NEXT}")
        return True

    return _soon(store, work)


def _soon(store: Store, work: Callable[[Connection], T]) -> T:
    """Run ``work``, which locks searches out, as soon as no long search runs."""
    settings = {"lock_timeout": str(int(LOCK_SECONDS * 1000))}
    for attempt in range(TRIES):
        try:
            with store.transaction(settings) as conn:
                return work(conn)
        except psycopg.errors.LockNotAvailable:
            time.sleep(min(1.0, 0.05 * (attempt + 1)))
        except psycopg.Error as error:
            raise explain(error, store.dsn) from error
    raise CrosscorpusError(
        f"collection {store.collection!r} is too busy to change its model: try again when the "
        "ingestion or the long searches that run now are over; all vectors are kept"
    )


def _without_views(conn: Connection, schema: str, *changes: LiteralString) -> None:
    """Apply ``changes`` to the tables; recreate the views of callers, where they exist."""
    there = schema_exists(conn, views_schema(schema))
    drop_views(conn, schema)
    for change in changes:
        conn.execute(change)
    if there:
        make_views(conn, schema)


def _cut_over(conn: Connection, collection: str, schema: str) -> None:
    # Lock the collection's row first: writers hold it until they have written their documents.
    head = conn.execute("SELECT next_model, next_space FROM collection FOR UPDATE").fetchone()
    if head is None or head[1] is None:
        raise CrosscorpusError(f"collection {collection!r} has no model migration under way")
    conn.execute("LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE")
    missing = conn.execute("SELECT count(*) FROM chunks WHERE next_embedding IS NULL").fetchone()
    lacking = [f"{missing and missing[0]} chunks have no vector"] * (missing != (0,))
    corpora = _sizes(conn)
    for corpus, chunks in corpora:
        if chunks > indexes.EXACT_SCAN_MAX_ROWS and not exists(conn, _next_index(corpus)):
            lacking.append(f"corpus {corpus!r} has no index")
    if lacking:
        raise ModelMigrationIncomplete(
            f"{lacking[0]} of model {head[0]!r} yet: run "
            f"crosscorpus models migrate {as_given(head[0])} again"
        )
    conn.execute("UPDATE chunks SET embedding_error = NULL WHERE embedding_error IS NOT NULL")
    _without_views(
        conn,
        schema,
        "ALTER TABLE chunks DROP COLUMN embedding",  # its indexes go with it
        "ALTER TABLE chunks RENAME COLUMN next_embedding TO embedding",
    )
    for corpus, _ in corpora:
        conn.execute(
            sql.SQL("ALTER INDEX IF EXISTS {} RENAME TO {}").format(
                sql.Identifier(_next_index(corpus)), sql.Identifier(indexes.vector_index(corpus))
            )
        )
    conn.execute(
        "UPDATE collection SET model = next_model, space = next_space,"
        f" dimensions = next_dimensions, {_NO_NEXT}"
    )


def _sizes(conn: Connection) -> list[tuple[str, int]]:
    rows = conn.execute("SELECT corpus, chunks FROM corpora ORDER BY corpus").fetchall()
    return [(str(corpus), int(chunks)) for corpus, chunks in rows]


def _next_index(corpus: str) -> str:
    return index_name("next_chunks", corpus, "hnsw")
