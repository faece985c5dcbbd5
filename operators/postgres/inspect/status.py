"""The contents of a collection, by corpus, so that a person sees whether something is wrong."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import polars as pl
import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from operators.postgres.connection import has_extension
from operators.postgres.schema.indexes import vector_index
from operators.postgres.schema.partitions import partition
from operators.postgres.search.filters import is_visible
from operators.postgres.server.embedded_server import server_for
from operators.postgres.store import Connection, Store, collection_info

TOP_REASONS = 3
LONGEST_REASON = 160

STATUS = pl.Schema(
    {
        "corpus": pl.String(),
        "documents": pl.Int64(),
        "indexed": pl.Int64(),
        "empty": pl.Int64(),
        "failed": pl.Int64(),
        "no_text": pl.Int64(),  # scanned
        "encrypted": pl.Int64(),
        "outdated": pl.Int64(),  # indexed or empty, but their newest version failed
        "chunks": pl.Int64(),
        "vector_index": pl.Boolean(),
        "unembedded": pl.Int64(),  # chunks that wait for their vector
        "unembeddable": pl.Int64(),  # chunks that the model could not embed
        "bytes": pl.Int64(),  # tables and indexes
        "oldest": pl.Datetime("us", "UTC"),  # the documents' own dates, else their creation times
        "newest": pl.Datetime("us", "UTC"),
        "last_run": pl.Datetime("us", "UTC"),  # start of the corpus's last ingestion
        "last_run_source": pl.String(),  # its reader and repositories
        "last_run_state": pl.String(),  # ok | failed (in part) | unfinished (killed, or running)
        "reasons": pl.List(pl.String),  # why documents were not read, most frequent first
        "notes": pl.List(pl.String),  # what was unusual in reading documents, likewise
    }
)

UNREAD = pl.Schema(
    {
        **dict.fromkeys(("corpus", "repo", "document_id"), pl.String()),
        "state": pl.String(),  # failed | no_text | encrypted | outdated, as in ``STATUS``
        "reason": pl.String(),
    }
)

SOURCES = pl.Schema(
    {
        "source": pl.String(),  # its reader and repositories
        "corpora": pl.List(pl.String),
        "read_at": pl.Datetime("us", "UTC"),  # start of its last ingestion
        "state": pl.String(),  # as ``STATUS.last_run_state``
        "revision": pl.String(),  # the commit that was read, and its working tree
        "folder": pl.String(),
        "command": pl.List(pl.String),  # what read it: the folder where it ran, its arguments
    }
)

_STATE = """CASE WHEN started_at IS NULL THEN NULL WHEN finished_at IS NULL THEN 'unfinished'
    WHEN ok THEN 'ok' ELSE 'failed' END"""
_READ = "SELECT *, state IN ('indexed', 'empty') AS chunks_made FROM documents"
_WHY = "coalesce(failed_reason, CASE WHEN NOT chunks_made THEN reason END)"

_DISK = """
    SELECT sum(size)::bigint, (sum(size) FILTER (WHERE relname = 'embedding_cache'))::bigint
    FROM (SELECT relname, pg_total_relation_size(c.oid) AS size
          FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
          WHERE nspname = %s AND relkind = 'r') AS tables
"""


def status(store: Store) -> pl.DataFrame:
    """One row a corpus, by name: the contents of ledger and indexes (columns: ``STATUS``)."""
    missing = missing_vectors(store)
    parameters: dict[str, Any] = {}
    seen = is_visible("d", store.visible, parameters)
    rows = store.run(lambda conn: _read_status(conn, seen, parameters))
    for row in rows:
        row["chunks"] = row["chunks_seen"] if store.visible.get(row["corpus"]) else row["chunks"]
        row["unembedded"], row["unembeddable"] = missing.get(row["corpus"], (0, 0))
    return pl.DataFrame([{name: row[name] for name in STATUS} for row in rows], schema=STATUS)


def disk(store: Store) -> dict[str, int]:
    """Bytes of the collection, of its cache of vectors, and of the embedded server's log.

    Empty on Citus, whose coordinator does not have the collection's tables.
    """
    if store.clustered:
        return {}
    whole, cache = store.row(_DISK, (store.schema,)) or (0, 0)
    used = {"collection": whole, "vector_cache": cache}
    if server_for(store.dsn):
        [[used["log"]]] = store.rows("SELECT sum(size)::bigint FROM pg_ls_waldir()")
    return used


def sources(store: Store) -> pl.DataFrame:
    """When each source was last read, by name (columns: ``SOURCES``).

    A source is listed with its visible corpora and repositories only; if it has none, it is left
    out.
    """
    rows = store.rows(
        f'SELECT DISTINCT ON (source COLLATE "C") source, corpora, started_at, {_STATE},'
        ' revision, folder, command FROM runs ORDER BY source COLLATE "C", run_id DESC',
    )
    frame = pl.DataFrame(rows, schema=SOURCES, orient="row")
    if not any(store.visible.values()):
        return frame
    repos, kept = repos_seen(store), []
    for row in frame.iter_rows(named=True):
        corpora = [one for one in row["corpora"] if one in repos]
        reader, _, named = row["source"].partition(" ")
        seen = sorted(set[str]().union(*(repos[corpus] for corpus in corpora)))
        shown = [repo for repo in seen if names_repo(row["source"], repo)]
        if corpora and (shown or not named):
            kept.append(row | {"source": " ".join((reader, *shown)), "corpora": corpora})
    return pl.DataFrame(kept, schema=SOURCES)


def names_repo(source: str, repo: str) -> bool:
    """Whether a source, as its runs name it, has this repository; a name may contain spaces.

    >>> [names_repo("folder/1 My docs", repo) for repo in ("My docs", "Your docs", "")]
    [True, False, False]
    """
    return f" {repo} " in f"{source} "


def repos_seen(store: Store) -> dict[str, set[str]]:
    """The repositories of the visible documents, by corpus."""
    parameters: dict[str, Any] = {}
    seen = is_visible("d", store.visible, parameters)
    repos: defaultdict[str, set[str]] = defaultdict(set)
    for corpus, repo in store.rows(
        f"SELECT DISTINCT corpus, repo FROM documents d WHERE {seen}", parameters
    ):
        repos[corpus].add(repo)
    return dict(repos)


def missing_vectors(store: Store) -> dict[str, tuple[int, int]]:
    """By corpus, the number of chunks queued for embedding, and of those that failed."""
    if collection_info(store).dimensions is None:
        return {}
    parameters: dict[str, Any] = {}
    counted = store.rows(
        "SELECT corpus, count(*) - count(embedding_error), count(embedding_error) FROM chunks c"
        f" WHERE embedding IS NULL AND {is_visible('c', store.visible, parameters)}"
        " GROUP BY corpus",
        parameters,
    )
    return {str(corpus): (waiting, failed) for corpus, waiting, failed in counted}


def unread(store: Store) -> pl.DataFrame:
    """The documents that were not read, and why: columns ``UNREAD``, by corpus, repo and id."""
    rows = store.rows(
        f"""
        SELECT corpus, repo, document_id,
               CASE WHEN failed_reason IS NULL THEN state ELSE 'outdated' END, {_WHY}
        FROM ({_READ}) AS d WHERE NOT chunks_made OR failed_reason IS NOT NULL
        ORDER BY corpus COLLATE "C", repo COLLATE "C", document_id COLLATE "C"
        """,
    )
    return pl.DataFrame(rows, schema=UNREAD, orient="row")


def _read_status(
    conn: Connection, seen: str, parameters: Mapping[str, Any]
) -> list[dict[str, Any]]:
    states = ("indexed", "empty", "failed", "no_text", "encrypted")
    counts = ", ".join(f"count(*) FILTER (WHERE state = '{name}') AS {name}" for name in states)
    cursor = conn.cursor(row_factory=dict_row)
    rows = cursor.execute(
        f"""
        SELECT d.*, coalesce(c.chunks, 0) AS chunks,
               r.started_at AS last_run, r.source AS last_run_source, {_STATE} AS last_run_state
        FROM (SELECT corpus, count(*) AS documents, {counts}, count(failed_reason) AS outdated,
                     sum(d.chunks)::bigint AS chunks_seen,
                     min(dated) AS oldest, max(dated) AS newest
              FROM documents d, LATERAL (SELECT coalesce(
                  CASE WHEN date_source IS DISTINCT FROM 'mtime' THEN doc_date END, created_at
              ) AS dated) AS own
              WHERE {seen} GROUP BY corpus) d
        LEFT JOIN corpora c USING (corpus)
        LEFT JOIN (SELECT DISTINCT ON (corpus) corpus, started_at, finished_at, source, ok
                   FROM runs, unnest(corpora) AS met(corpus)
                   ORDER BY corpus, run_id DESC) r USING (corpus)
        ORDER BY d.corpus COLLATE "C"
        """,
        parameters,
    ).fetchall()
    reasons = _counted(conn, _WHY, seen, parameters)
    notes = _counted(conn, "CASE WHEN chunks_made THEN reason END", seen, parameters)
    for row in rows:
        corpus = row["corpus"]
        row |= {"reasons": reasons[corpus], "notes": notes[corpus], **_sizes(cursor, corpus)}
    return rows


def _counted(
    conn: Connection, expression: str, seen: str, parameters: Mapping[str, Any]
) -> defaultdict[str, list[str]]:
    """The values of the SQL ``expression`` by corpus, with counts, most frequent first."""
    rows = conn.execute(
        f"""
        SELECT corpus, documents, reason FROM (
            SELECT corpus, reason, count(*) AS documents,
                   row_number() OVER (PARTITION BY corpus
                                      ORDER BY count(*) DESC, reason COLLATE "C") AS rank
            FROM (SELECT corpus, left({expression}, %(longest)s) AS reason
                  FROM ({_READ}) AS d WHERE {seen}) AS given
            WHERE reason IS NOT NULL
            GROUP BY corpus, reason
        ) AS counted
        WHERE rank <= %(top)s ORDER BY corpus, rank
        """,
        {**parameters, "longest": LONGEST_REASON, "top": TOP_REASONS},
    )
    counts: defaultdict[str, list[str]] = defaultdict(list)
    for corpus, documents, reason in rows:
        counts[corpus].append(f"{documents} x {reason}")
    return counts


def _sizes(cursor: psycopg.Cursor[dict[str, Any]], corpus: str) -> dict[str, Any]:
    names = [vector_index(corpus), *(partition(table, corpus) for table in ("chunks", "postings"))]
    index, *tables = (sql.Identifier(name).as_string() for name in names)
    size = ("citus" if has_extension(cursor.connection, "citus") else "pg") + "_total_relation_size"
    row = cursor.execute(
        f"SELECT to_regclass(%s) IS NOT NULL AS vector_index, coalesce(sum({size}(r)), 0)::bigint"
        " AS bytes FROM unnest(%s::text[]) AS n(name), LATERAL to_regclass(n.name) AS r",
        (index, tables),
    ).fetchone()
    return row or {}
