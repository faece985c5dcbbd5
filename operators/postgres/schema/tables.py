"""A collection's tables: making them, bringing them up to date, checking them."""

import time

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError
from operators.postgres.errors import DatabaseError
from operators.postgres.schema.migrate import apply_migrations, pending_migrations

_VECTORS = """
    SELECT c.dimensions, (
        SELECT format('%%s(%%s)', t.typname, a.atttypmod)
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = %s::regclass AND a.attname = 'embedding' AND NOT a.attisdropped
    ), EXISTS (
        SELECT 1 FROM pg_attribute a
        WHERE a.attrelid = %s::regclass AND a.attname = 'bm25' AND NOT a.attisdropped
    )
    FROM {} c
"""


def bring_up_to_date(
    conn: psycopg.Connection[TupleRow], collection: str, schema: str, search_path: str
) -> None:
    """Give ``schema`` the tables of ``collection`` that it lacks, and the collection its name.

    ``search_path`` begins with ``schema`` and leads to pgvector's types.

    Raises:
        CrosscorpusError: the role may not create tables.
        MigrationError: the schema does not follow from the migration files at hand.
    """
    # The name comes after the tables, and their maker may have been killed in between.
    if not pending_migrations(conn, schema) and _is_named(conn, schema):
        return
    try:
        apply_migrations(conn, schema, search_path=search_path)
        with conn.transaction():
            comment = sql.SQL("COMMENT ON SCHEMA {} IS {}")
            conn.execute(comment.format(sql.Identifier(schema), sql.Literal(collection)))
            conn.execute(
                sql.SQL("INSERT INTO {} (name) VALUES (%s) ON CONFLICT DO NOTHING").format(
                    sql.Identifier(schema, "collection")
                ),
                (collection,),
            )
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise CrosscorpusError(
            f"collection {collection!r} must be made or brought up to date by a role that may "
            "create tables: open it once with such a role, and if this is a replica, on its primary"
        ) from error


def check_vectors(conn: psycopg.Connection[TupleRow], collection: str, schema: str) -> None:
    """Check that the tables have the columns that searches read, with the recorded dimensions.

    Raises:
        DatabaseError: a column is gone or has another type; says what to do.
    """
    tables = [sql.Identifier(schema, name).as_string(conn) for name in ("chunks", "postings")]
    head = sql.SQL(_VECTORS).format(sql.Identifier(schema, "collection"))
    for wait_s in (0.1, 0.9, 0):  # what another process just made, a cluster shows table by table
        row = conn.execute(head, tables).fetchone()
        if row is None:
            return
        dimensions, held, weighed = row
        if weighed and (dimensions is None or held == f"halfvec({dimensions})"):
            return
        time.sleep(wait_s)
    what = "has lost its vectors (DROP EXTENSION vector ... CASCADE takes them along)"
    if weighed and held is not None:
        what = f"should hold vectors of {dimensions} dimensions, and its table has {held}"
    name = sql.Identifier(schema).as_string(conn)
    raise DatabaseError(
        "lost_vectors",
        f"collection {collection!r} {what}: ingest its sources into another collection, or run "
        f"DROP SCHEMA {name} CASCADE in its database and ingest them again",
    )


def _is_named(conn: psycopg.Connection[TupleRow], schema: str) -> bool:
    table = sql.Identifier(schema, "collection")
    return conn.execute(sql.SQL("SELECT 1 FROM {}").format(table)).fetchone() is not None
