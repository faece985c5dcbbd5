"""Taking documents out for good: a secret that was ingested must not stay anywhere.

To delete a row is not enough. Postgres keeps its bytes in the table until that part is written
again, in the planner's statistics, and in the write-ahead log. :func:`delete_for_good` deletes,
:func:`erase` makes the server write what is left into new files and drop the old log.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import polars as pl
import psycopg
from psycopg import sql

from operators.embedding.cache import text_hash
from operators.embedding.passage import embedded_text
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.postgres.connection import connect
from operators.postgres.errors import explained
from operators.postgres.schema.partitions import partition
from operators.postgres.store import Connection, Store
from operators.postgres.write.document_writer import delete_documents

CHOSEN = pl.Schema(
    {
        "corpus": pl.String(),
        "repo": pl.String(),
        "document_id": pl.String(),
        "path": pl.String(),
        "chunks": pl.Int32(),
    }
)

_TABLES = (
    *("documents", "terms", "corpora", "repos", "embedding_cache", "sync_items", "sync_state"),
    *("document_versions", "superseded_chunks", "document_sketches", "runs"),
)
_OTHER_LOG_FILES = """
    SELECT FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'
      AND name <> pg_walfile_name(pg_current_wal_insert_lsn())
"""
_MOST_LOG_FILES = 300  # that are used up; a server keeps 64 of 16 MB by default
_ON_GITHUB = {"review": "pr_number", "issue": "issue_number"}


def choose_documents(
    store: Store,
    *,
    corpus: str | None = None,
    repo: str | None = None,
    document: str | None = None,
) -> pl.DataFrame:
    """``CHOSEN``: the documents that all given filters name, also those that could not be read.

    Args:
        store: the open collection.
        corpus: only of this corpus.
        repo: only of this repository.
        document: only with this id or path.

    Raises:
        CrosscorpusError: there is no filter at all.
        UnknownName: no document passes; names the nearest corpus, repository or path.
    """
    filters = {"corpus": corpus, "repo": repo, "document": document}
    given = {name: value for name, value in filters.items() if value is not None}
    if not given:
        raise CrosscorpusError("say what to drop: a corpus, a repository or a document")
    columns = {
        "corpus": "corpus = %s",
        "repo": "repo = %s",
        "document": "%s IN (document_id, path)",
    }
    where = " AND ".join(columns[name] for name in given)
    rows = store.rows(
        f"SELECT corpus, repo, document_id, path, chunks FROM documents WHERE {where}"
        " ORDER BY corpus, repo, document_id",
        list(given.values()),
    )
    if not rows:
        raise UnknownName(_nothing(store, given))
    return pl.DataFrame(rows, schema=CHOSEN, orient="row")


def delete_for_good(store: Store, chosen: pl.DataFrame) -> int:
    """Delete documents with their vectors, also the cached ones, and what a sync fetched of them.

    Args:
        store: the open collection.
        chosen: columns ``CHOSEN``.

    Returns:
        How many documents there were.
    """
    deleted = 0
    for (corpus, repo), part in chosen.partition_by("corpus", "repo", as_dict=True).items():
        names = part["document_id"].to_list()
        for first in range(0, len(names), 500):
            some = names[first : first + 500]
            store.run(partial(_forget_copies, corpus=str(corpus), repo=str(repo), names=some))
            deleted += delete_documents(store, str(corpus), str(repo), some)
    return deleted


def erase(store: Store, corpora: Sequence[str]) -> list[str]:
    """Have the server write the tables of ``corpora`` into new files, and drop the old log.

    Returns:
        What this server did not allow or cannot do, in sentences: on a server of one's own, that
        needs a superuser; the log of a replica or of a backup is never touched.
    """
    names = [*_TABLES, *(partition(t, c) for t in ("chunks", "postings") for c in corpora)]
    with connect(store.dsn, autocommit=True) as conn, explained(store.dsn):
        for name in names:
            table = sql.Identifier(store.schema, name)
            if conn.execute("SELECT to_regclass(%s)", (table.as_string(conn),)).fetchone() != (
                None,
            ):
                conn.execute(sql.SQL("VACUUM (FULL, ANALYZE) {}").format(table))
        return _erase_log(conn)


def erase_log(dsn: str) -> list[str]:
    """As :func:`erase`, where the tables themselves are gone."""
    with connect(dsn, autocommit=True) as conn, explained(dsn):
        return _erase_log(conn)


def _erase_log(conn: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    """Use up every file of the log: one that is left is zeros, and a checkpoint deletes it."""
    try:
        conn.execute("VACUUM (FULL) pg_statistic")
        conn.execute("ALTER SYSTEM SET wal_recycle = off")  # deleted, not renamed for later use
        conn.execute("SELECT pg_reload_conf()")
        for _ in range(_MOST_LOG_FILES):
            conn.execute("SELECT pg_logical_emit_message(true, 'erase', '')")
            conn.execute("SELECT pg_switch_wal()")
            conn.execute("CHECKPOINT")
            if conn.execute(_OTHER_LOG_FILES).fetchone() is None:
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


def _forget_copies(conn: Connection, corpus: str, repo: str, names: Sequence[str]) -> None:
    key = (corpus, repo, list(names))
    chunks = conn.execute(
        "SELECT title, anchor, text FROM chunks"
        " WHERE corpus = %s AND repo = %s AND document_id = ANY(%s)",
        key,
    ).fetchall()
    hashes = [text_hash(embedded_text(*row)).hex() for row in chunks]
    conn.execute("DELETE FROM embedding_cache WHERE text_hash = ANY(%s)", (hashes,))
    if (number := _ON_GITHUB.get(corpus)) is not None:
        conn.execute(
            "DELETE FROM sync_items USING documents d, sync_state s"
            " WHERE d.corpus = %s AND d.repo = %s AND d.document_id = ANY(%s)"
            " AND s.name = 'repository' AND s.value::json->>'repo' = d.repo"
            " AND sync_items.source = s.source"
            f" AND sync_items.number::text = d.metadata::json->>'{number}'",
            key,
        )


def _nothing(store: Store, given: dict[str, str]) -> str:
    """No document passes all filters: say which of them has none, and what is near."""
    for name, value in given.items():
        column = {"document": "coalesce(path, document_id)"}.get(name, name)
        known = [str(row[0]) for row in store.rows(f"SELECT DISTINCT {column} FROM documents")]
        if value not in known:
            near = suggest(value, known)
            return f"no {name} {value!r}{near if near.startswith(',') or len(known) < 20 else ''}"
    return f"no document is of {' and '.join(f'{n} {v!r}' for n, v in given.items())}"
