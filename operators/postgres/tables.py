"""A collection's tables, made and brought up to date before anything relies on them."""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError
from operators.postgres.migrate import apply_migrations, pending_migrations


def bring_up_to_date(
    conn: psycopg.Connection[TupleRow], collection: str, schema: str, search_path: str
) -> None:
    """Give ``schema`` the tables of ``collection`` that it lacks, and the collection its name.

    ``search_path`` begins with ``schema`` and leads to pgvector's types.

    Raises:
        CrosscorpusError: the role may not create tables.
        MigrationError: the schema does not follow from the migration files at hand.
    """
    # The name comes after the tables, and whoever made those may have been killed in between.
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
            "create tables: open it once with such a role"
        ) from error


def _is_named(conn: psycopg.Connection[TupleRow], schema: str) -> bool:
    table = sql.Identifier(schema, "collection")
    return conn.execute(sql.SQL("SELECT 1 FROM {}").format(table)).fetchone() is not None
