"""Creates and migrates a collection's tables."""

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError
from operators.postgres.schema.migrate import apply_migrations, pending_migrations

ON_EVERY_NODE = (
    *("documents", "superseded_chunks", "document_versions", "document_sketches"),
    *("versioned_corpora", "collection", "corpora", "repos", "terms"),
    *("sync_items", "sync_state", "runs"),
    *("access_classes", "access_terms", "access_repos", "rights"),
)
"""The tables of a collection, except those of its chunks and the cached vectors."""


def bring_up_to_date(
    conn: psycopg.Connection[TupleRow],
    collection: str,
    schema: str,
    search_path: str,
    shards: int | None = None,
) -> None:
    """Create the missing tables of ``collection`` in ``schema``, and record its name.

    ``search_path`` begins with ``schema`` and leads to pgvector's types; ``shards`` spreads the
    chunks of a new collection over the nodes of a Citus cluster.

    Raises:
        CrosscorpusError: the role may not create tables.
        MigrationError: the schema does not match the local migration files.
    """
    # The name is written after the tables; the process may have been killed in between.
    table = sql.Identifier(schema, "collection")
    named = sql.SQL("SELECT 1 FROM {}").format(table)
    if not pending_migrations(conn, schema) and conn.execute(named).fetchone() is not None:
        return
    try:
        apply_migrations(conn, schema, search_path, whole=shards is None)
        with conn.transaction():
            if shards and not shards_of(conn, schema):
                _distribute(conn, schema, shards)
            name = sql.SQL("INSERT INTO {} (name) VALUES (%s) ON CONFLICT DO NOTHING")
            conn.execute(name.format(table), (collection,))
            name_collection(conn, schema, collection)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise CrosscorpusError(
            f"collection {collection!r} must be made or brought up to date by a role that may "
            "create tables: open it once with such a role, and if this is a replica, on its primary"
        ) from error


def name_collection(conn: psycopg.Connection[TupleRow], schema: str, name: str) -> None:
    """Record ``name`` as that of the collection in ``schema``: its comment lists it."""
    comment = sql.SQL("COMMENT ON SCHEMA {} IS {}")
    conn.execute(comment.format(sql.Identifier(schema), sql.Literal(name)))
    update = sql.SQL("UPDATE {} SET name = %s")
    conn.execute(update.format(sql.Identifier(schema, "collection")), (name,))


def shards_of(conn: psycopg.Connection[TupleRow], schema: str) -> int:
    """The number of shards of the chunks of ``schema`` in a Citus cluster; 0: not sharded."""
    row = conn.execute(
        "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = %s::regclass",
        (sql.Identifier(schema, "chunks").as_string(conn),),
    ).fetchone()
    return int(row[0]) if row else 0


def _distribute(conn: psycopg.Connection[TupleRow], schema: str, shards: int) -> None:
    def named(table: str) -> str:
        return sql.Identifier(schema, table).as_string(conn)

    conn.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    by_chunk = "SELECT create_distributed_table(%s, 'chunk_id', colocate_with => %s{})"
    spread = by_chunk.format(", shard_count => %s")
    conn.execute(spread, (named("chunks"), "none", shards))
    conn.execute(by_chunk.format(""), (named("postings"), named("chunks")))
    for table in ON_EVERY_NODE:
        conn.execute("SELECT create_reference_table(%s)", (named(table),))
