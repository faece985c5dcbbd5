"""The partition of each corpus, created before its first document is written, and its locks."""

from collections.abc import Iterable
from functools import partial
from typing import LiteralString

from psycopg import sql

from operators.postgres.connection import has_extension
from operators.postgres.errors import DatabaseError
from operators.postgres.schema.tables import shards_of
from operators.postgres.store import Connection, Store, identifier

# A search reads the whole posting that it scores, so a posting stays in its page while it fits.
_PARTITIONS = {"chunks": "", "postings": "WITH (toast_tuple_target = 8160)"}
SEPARATOR = "__"
"""Precedes the last part of an index's name; no corpus's name contains it. Tables and indexes share
one namespace, so this keeps their names distinct."""


def partition(table: str, corpus: str) -> str:
    """The name of the partition of ``table`` (chunks or postings) that holds ``corpus``."""
    return identifier(f"{table}_{corpus}")


def index_name(table: str, corpus: str, what: str) -> str:
    """The name of the index on ``what`` of a corpus's partition of ``table``."""
    return identifier(f"{table}_{corpus}{SEPARATOR}{what}")


def ensure_partitions(store: Store, corpora: Iterable[str]) -> None:
    """Create the missing partitions of ``corpora``.

    Raises:
        DatabaseError: a corpus's name contains the separator of index names, or a table or index
            already has the name of its partition.
    """
    for corpus in corpora:
        if not store.run(partial(_is_made, corpus=corpus)):
            store.run(partial(_create, corpus=corpus))


def exists(conn: Connection, name: str, kind: LiteralString = "true") -> bool:
    """Whether the collection has a table or index of that name, of that ``kind`` (SQL)."""
    row = conn.execute(
        f"SELECT 1 FROM pg_class WHERE relname = %s AND {kind}"
        " AND relnamespace = quote_ident(current_schema())::regnamespace",
        (name,),
    ).fetchone()
    return row is not None


def lock_writers(conn: Connection, corpora: Iterable[str], *, alone: bool = False) -> None:
    """Lock the corpora until the transaction ends, shared by writers or for one ``alone``.

    A transaction that weighs a whole corpus needs the exclusive lock. Otherwise a chunk that is
    written meanwhile keeps a weight of an outdated average. In a sharded collection every writer
    takes it: a cluster locks small tables completely, and two writers would deadlock.
    """
    if has_extension(conn, "citus"):
        ((schema,),) = conn.execute("SELECT current_schema()").fetchall()
        if shards_of(conn, schema) > 1:
            lock(conn, "writers")
    for corpus in sorted(corpora):
        lock(conn, corpus, alone=alone)


def lock(conn: Connection, what: str, *, alone: bool = True) -> None:
    """Lock ``what`` of this collection until the transaction ends, exclusively or shared."""
    kind = sql.SQL("pg_advisory_xact_lock{}").format(sql.SQL("" if alone else "_shared"))
    conn.execute(
        sql.SQL("SELECT {}(hashtextextended(current_schema() || '/' || %s, 0))").format(kind),
        (what,),
    )


def _is_made(conn: Connection, corpus: str) -> bool:
    return exists(conn, partition("chunks", corpus), "relispartition AND relkind = 'r'")


def _create(conn: Connection, corpus: str) -> None:
    lock(conn, "tables/new")
    if _is_made(conn, corpus):
        return
    for table, options in _PARTITIONS.items():
        name = partition(table, corpus)
        if SEPARATOR in corpus or exists(conn, name):
            raise DatabaseError(
                "name_taken",
                f"no corpus {corpus!r} can be made in this collection: the name of its table would "
                f"be {name}, which is there or may be an index's; call it otherwise",
            )
        conn.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES IN ({}) {}").format(
                sql.Identifier(name), sql.Identifier(table), sql.Literal(corpus), sql.SQL(options)
            )
        )
