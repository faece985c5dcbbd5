"""Erases documents permanently: an ingested secret must not remain anywhere.

Deleting a row is not enough. Postgres keeps its bytes in the table until that part is overwritten,
in the planner's statistics, and in the write-ahead log. :func:`delete_for_good` deletes the rows,
:func:`erase` makes the server rewrite the tables into new files and drop the old log. Queries
continue while it rewrites passages and postings.
"""

from contextlib import suppress
from functools import partial

import polars as pl
import psycopg
from psycopg import sql

from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.foundation.sanitize import clean_text
from operators.postgres.connection import connect
from operators.postgres.errors import explained
from operators.postgres.schema.partitions import partition
from operators.postgres.schema.rewritten_partition import rewrite_partition
from operators.postgres.schema.tables import ON_EVERY_NODE
from operators.postgres.store import Connection, Store
from operators.postgres.undeleted import SOURCE as UNDELETED
from operators.postgres.write.document_writer import delete_documents
from operators.postgres.write.embedding_cache import forget_unused_vectors
from operators.postgres.write.sync_state import write_state

CHOSEN = pl.Schema(
    {
        **dict.fromkeys(("corpus", "repo", "document_id", "path"), pl.String()),
        "chunks": pl.Int32(),
    }
)

_TABLES = (*ON_EVERY_NODE, "embedding_cache")
_OTHER_LOG_FILES = """
    SELECT FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'
      AND name <> pg_walfile_name(pg_current_wal_insert_lsn())
"""
_PARTED = ("chunks", "postings")
_NUMBERS = ("terms", "access_terms")
"""Tables that every query reads and that hold no text."""
_MARK = "removal"
"""The ``source`` of marks in ``sync_state``, whose ``name`` is a corpus."""

_FORGET_ITEMS = """
    DELETE FROM sync_items USING documents d, sync_state s
    WHERE d.corpus = %s AND d.repo = %s AND d.document_id = ANY(%s)
      AND s.name = 'repository' AND s.value::json->>'repo' = d.repo
      AND sync_items.source = s.source AND sync_items.number::text = d.metadata::json->>'{}'
"""
_FORGET_PROGRESS = """
    WITH fetched AS (
        SELECT source, value::json->>'repo' AS repo FROM sync_state
        WHERE name = 'repository' AND value::json->>'repo' = %s
    ), items AS (
        DELETE FROM sync_items i USING fetched f WHERE i.source = f.source AND NOT EXISTS (
            SELECT 1 FROM documents d WHERE d.repo = f.repo AND d.corpus IN ('review', 'issue')
              AND i.number::text IN (d.metadata::json->>'pr_number',
                                     d.metadata::json->>'issue_number'))
    )
    DELETE FROM sync_state s USING fetched f WHERE s.source = f.source AND s.name <> 'repository'
"""
_FORGET_RUNS = """
    UPDATE runs SET source = split_part(source, ' ', 1) WHERE strpos(source, ' ') > 0
      AND NOT EXISTS (SELECT 1 FROM documents WHERE repo = right(source, -strpos(source, ' ')))
"""
_CLEARS_STATISTICS = 180_000
_CLEAR_STATISTICS = """
    SELECT pg_clear_attribute_stats(n.nspname, c.relname, a.attname, inherited)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    JOIN pg_class t ON t.oid = coalesce(i.indrelid, c.oid), unnest('{t,f}'::bool[]) AS inherited
    WHERE t.relname = ANY(%s::text[]) AND n.nspname = %s AND c.relkind IN ('r', 'p', 'i', 'I')
"""
_MOST_LOG_FILES = 300  # that are used up; a server keeps 64 of 16 MB by default
_ON_GITHUB = {"review": "pr_number", "issue": "issue_number"}


def choose_documents(
    store: Store, *, corpus: str | None = None, repo: str | None = None, document: str | None = None
) -> pl.DataFrame:
    """``CHOSEN``: the documents that pass all given filters, also those that could not be read.

    ``document`` is an id or a path.

    Raises:
        CrosscorpusError: no filter is given.
        UnknownName: no document passes; suggests the nearest corpus, repository or path.
    """
    filters = {"corpus": corpus, "repo": repo, "document": document}
    conditions = {name: clean_text(value) for name, value in filters.items() if value is not None}
    if not conditions:
        raise CrosscorpusError(
            "say what to drop: a corpus (--corpus), a repository (--repo) or a document"
        )
    columns = {"corpus": "corpus", "repo": "repo", "document": "document_id, path"}
    where = " AND ".join(f"%s IN ({columns[name]})" for name in conditions)
    rows = store.rows(
        f"SELECT corpus, repo, document_id, path, chunks FROM documents WHERE {where}"
        " ORDER BY corpus, repo, document_id",
        list(conditions.values()),
    )
    if not rows:
        raise UnknownName(_nothing(store, conditions))
    return pl.DataFrame(rows, schema=CHOSEN, orient="row")


def delete_for_good(store: Store, chosen: pl.DataFrame) -> None:
    """Delete ``chosen`` (``CHOSEN``), and the data that a sync fetched for them.

    Their corpora stay marked until :func:`erase` has erased the rest, even after an interruption.
    """
    corpora = chosen["corpus"].unique().sort().to_list()
    store.run(lambda conn: write_state(conn, [(_MARK, corpus, "{}") for corpus in corpora]))
    for (corpus, repo), part in chosen.partition_by("corpus", "repo", as_dict=True).items():
        names = part["document_id"].to_list()
        for first in range(0, len(names), 500):
            some = names[first : first + 500]
            if (number := _ON_GITHUB.get(str(corpus))) is not None:
                store.execute(_FORGET_ITEMS.format(number), (corpus, repo, some))
            delete_documents(store, str(corpus), str(repo), some)
        store.run(partial(_forget_source, corpus=str(corpus), repo=str(repo)))


def to_be_erased(store: Store) -> list[str]:
    """The corpora with deleted documents that are not erased yet; sorted."""
    rows = store.rows("SELECT name FROM sync_state WHERE source = %s ORDER BY 1", (_MARK,))
    return [str(corpus) for (corpus,) in rows]


def erase(store: Store) -> list[str]:
    """Make the server rewrite the tables of marked corpora into new files and drop the old log.

    Returns:
        A sentence for each step that the server refuses or cannot do: on your own server, erasing
        needs a superuser; the log that a replica or a backup needs is never dropped.
    """
    corpora = to_be_erased(store)
    forget_unused_vectors(store)
    both = [(table, corpus) for table in _PARTED for corpus in corpora]
    written = [partition(*one) for one in both if rewrite_partition(store, *one)]
    parts = [partition(*one) for one in both]
    with connect(store.dsn, autocommit=True) as conn, explained(store.dsn):
        left = []
        if conn.info.server_version >= _CLEARS_STATISTICS:
            # for an empty table the planner would keep its column statistics
            conn.execute(_CLEAR_STATISTICS, ([*_TABLES, *_PARTED, *parts], store.schema))
        else:
            left.append("the statistics of a table that is empty now stay: Postgres 18 clears them")
        for name in [*_TABLES, *parts, *_PARTED]:
            table = sql.Identifier(store.schema, name)
            how = "VACUUM (FULL, ANALYZE)"  # locks out readers
            if name in _PARTED:
                how = "ANALYZE"
            elif name in _NUMBERS or name in written:
                how = "VACUUM (ANALYZE)"
            there = conn.execute("SELECT to_regclass(%s)", (table.as_string(conn),)).fetchone()
            if there != (None,):
                conn.execute(sql.SQL(how + " {}").format(table))
    left += erase_log(store.dsn)
    store.execute("DELETE FROM sync_state WHERE source = %s", (_MARK,))
    return left


def erase_log(dsn: str) -> list[str]:
    """Drop the old log as :func:`erase` does, after a whole collection was dropped."""
    # Fill every file of the log, so that a checkpoint deletes it. A recycled file becomes the
    # current one with its old text; only the next one is filled with zeros.
    with connect(dsn, autocommit=True) as conn, explained(dsn):
        try:
            conn.execute("VACUUM (FULL) pg_statistic")
            conn.execute("ALTER SYSTEM SET wal_recycle = off")  # deleted, not renamed for later use
            conn.execute("SELECT pg_reload_conf()")
            alone = 0
            for _ in range(_MOST_LOG_FILES):
                conn.execute("SELECT pg_logical_emit_message(true, 'erase', '')")
                conn.execute("SELECT pg_switch_wal()")
                conn.execute("CHECKPOINT")
                alone = alone + 1 if conn.execute(_OTHER_LOG_FILES).fetchone() is None else 0
                if alone == 2:
                    break
            else:
                return ["the server keeps older parts of its log, as for a replica or an archive"]
        except psycopg.errors.InsufficientPrivilege:
            return [
                "the server's log and statistics still hold what was dropped until they are written"
                " again: only a superuser may make the server do that"
            ]
        finally:
            with suppress(psycopg.errors.InsufficientPrivilege):
                conn.execute("ALTER SYSTEM RESET wal_recycle")
                conn.execute("SELECT pg_reload_conf()")
        return []


def _forget_source(conn: Connection, corpus: str, repo: str) -> None:
    """Delete the sync position of a fetched source, and all state of one without documents.

    A sync then fetches everything again. The address of a source without documents must not remain,
    and its items may have had no documents before.
    """
    if corpus in _ON_GITHUB:
        conn.execute(_FORGET_PROGRESS, (repo,))
    empty = "NOT EXISTS (SELECT 1 FROM documents WHERE corpus = %(corpus)s AND repo = %(repo)s)"
    parameters = {"corpus": corpus, "repo": repo, "owner": f"{corpus} {repo}"}
    conn.execute(
        f"DELETE FROM sync_state WHERE right(source, -strpos(source, ' ')) = %(owner)s AND {empty}",
        parameters,
    )
    conn.execute(
        "DELETE FROM sync_state WHERE source = %(undeleted)s"
        f" AND right(name, -strpos(name, ' ')) = %(owner)s AND {empty}",
        parameters | {"undeleted": UNDELETED},
    )
    conn.execute(_FORGET_RUNS)


def _nothing(store: Store, conditions: dict[str, str]) -> str:
    """The error if no document passes all filters: the filter without documents, a suggestion."""
    for name, value in conditions.items():
        column = {"document": "coalesce(path, document_id)"}.get(name, name)
        known = [str(row[0]) for row in store.rows(f"SELECT DISTINCT {column} FROM documents")]
        if value not in known:
            near = suggest(value, known)
            return f"no {name} {value!r}{near if near.startswith(',') or len(known) < 20 else ''}"
    return f"no document is of {' and '.join(f'{n} {v!r}' for n, v in conditions.items())}"
