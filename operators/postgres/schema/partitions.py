"""One partition a corpus, made when the corpus's first document is written, and its locks."""

from __future__ import annotations

from collections.abc import Iterable

from psycopg import sql

from operators.postgres.errors import DatabaseError
from operators.postgres.store import Connection, Store, identifier

# A row of postings is read whole by every search that scores it: kept in its page while it fits.
_PARTITIONS = {"chunks": "", "postings": "WITH (toast_tuple_target = 8160)"}
# What the names of a corpus's own indexes end with (:mod:`operators.postgres.schema.indexes`).
_INDEXES = ("_search_tsv", "_hnsw", "_bm25", "_terms")


def partition(table: str, corpus: str) -> str:
    """The name of the partition of ``table`` (chunks or postings) that holds ``corpus``."""
    return identifier(f"{table}_{corpus}")


def ensure_partitions(store: Store, corpora: Iterable[str]) -> None:
    """Make the partitions that ``corpora`` lack.

    Raises:
        DatabaseError: one would have the name of an index, or its index that of another's table.
    """
    for corpus in corpora:
        if not store.run(lambda conn, corpus=corpus: _is_made(conn, corpus)):  # type: ignore[misc]
            store.run(lambda conn, corpus=corpus: _create(conn, corpus))  # type: ignore[misc]


def exists(conn: Connection, name: str) -> bool:
    """Whether the collection has a table or index of that name."""
    row = conn.execute(
        "SELECT 1 FROM pg_class"
        " WHERE relname = %s AND relnamespace = quote_ident(current_schema())::regnamespace",
        (name,),
    ).fetchone()
    return row is not None


def lock_writers(conn: Connection, corpora: Iterable[str], *, alone: bool = False) -> None:
    """Hold the corpora until the transaction ends: writers together, or one ``alone``.

    Whoever weighs all of a corpus anew must be alone, or a chunk written meanwhile keeps the weight
    of an average that is no longer the corpus's.
    """
    for corpus in sorted(corpora):
        lock(conn, corpus, alone=alone)


def lock(conn: Connection, what: str, *, alone: bool = True) -> None:
    """Hold ``what`` of this collection until the transaction ends: alone, or with who shares it."""
    kind = sql.SQL("pg_advisory_xact_lock{}").format(sql.SQL("" if alone else "_shared"))
    conn.execute(
        sql.SQL("SELECT {}(hashtextextended(current_schema() || '/' || %s, 0))").format(kind),
        (what,),
    )


def _is_made(conn: Connection, corpus: str) -> bool:
    row = conn.execute(
        "SELECT 1 FROM pg_class WHERE relname = %s AND relispartition AND relkind = 'r'"
        " AND relnamespace = quote_ident(current_schema())::regnamespace",
        (partition("chunks", corpus),),
    ).fetchone()
    return row is not None


def _check_name(conn: Connection, corpus: str) -> None:
    """Tables and indexes share their names: also those of indexes that are built later."""
    met = [corpus]
    for ending in _INDEXES:
        met.append(corpus + ending)
        if corpus.endswith(ending):
            met.append(corpus.removesuffix(ending))
    names = [partition(table, other) for other in met for table in _PARTITIONS]
    for name in names:
        if exists(conn, name):
            raise DatabaseError(
                "name_taken",
                f"no corpus {corpus!r} can be made in this collection: the names of its tables "
                f"and indexes would meet those of {name}, which is there; call it otherwise",
            )


def _create(conn: Connection, corpus: str) -> None:
    conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))")
    if _is_made(conn, corpus):
        return
    _check_name(conn, corpus)
    for table, options in _PARTITIONS.items():
        conn.execute(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} PARTITION OF {} FOR VALUES IN ({}) {}").format(
                sql.Identifier(partition(table, corpus)),
                sql.Identifier(table),
                sql.Literal(corpus),
                sql.SQL(options),
            )
        )
