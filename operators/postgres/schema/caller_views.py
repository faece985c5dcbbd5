"""The views that a caller of a collection with rights reads instead of its tables.

Every statement names a table without its schema. For a caller, the schema of the views comes first
in ``search_path``. So every statement, present or future, sees only the rows of the visible
documents, and counts of these rows. The transaction sets the visible classes in
``crosscorpus.access``.
"""

import hashlib

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

SETTING = "crosscorpus.access"

_SEEN = f"(SELECT nullif(current_setting('{SETTING}'), '')::bigint[])"
_CLASS = f"{{}}.access = ANY ({_SEEN}::bigint[])"
_UNMARKED = f"(SELECT 0 = ANY (nullif(current_setting('{SETTING}'), '')::bigint[]))"
_BY_DOCUMENT = (
    "SELECT t.* FROM {base}.{table} t WHERE EXISTS (SELECT 1 FROM {base}.documents d"
    f" WHERE d.document_key = t.document_key AND {_CLASS.format('d')})"
)
_BY_CLASS = f"SELECT t.* FROM {{base}}.{{table}} t WHERE {_CLASS.format('t')}"


def _counted(table: str, key: str, count: str, kind: str) -> str:
    """The counts of visible rows; if unmarked ones are visible: all rows minus the hidden ones."""
    return f"""
        SELECT corpus, {key}, sum({count})::{kind} AS {count} FROM (
            SELECT corpus, {key}, {count} FROM {{base}}.{table} WHERE {_UNMARKED}
            UNION ALL
            SELECT a.corpus, a.{key}, CASE WHEN {_UNMARKED} THEN -a.{count} ELSE a.{count} END
            FROM {{base}}.access_{table} a WHERE ({_CLASS.format("a")}) <> {_UNMARKED}
        ) AS counted GROUP BY corpus, {key} HAVING sum({count}) > 0
    """


_VIEWS = {
    "documents": _BY_CLASS
    + " AND t.state IN ('indexed', 'empty')",  # other documents have only a name
    "chunks": _BY_CLASS,
    "postings": _BY_CLASS,
    "document_versions": _BY_DOCUMENT,
    "document_sketches": _BY_DOCUMENT,
    "superseded_chunks": _BY_DOCUMENT,
    "versioned_corpora": "SELECT t.* FROM {base}.{table} t WHERE EXISTS (SELECT 1"
    " FROM {base}.document_versions v JOIN {base}.documents d USING (document_key)"
    f" WHERE v.corpus = t.corpus AND {_CLASS.format('d')})",
    "releases": "SELECT t.* FROM {base}.{table} t JOIN {base}.documents d USING (document_key)"
    f" WHERE {_CLASS.format('d')}",
    "collection": "SELECT t.* FROM {base}.{table} t",
    "terms": _counted("terms", "term_id", "df", "int"),
    "repos": _counted("repos", "repo", "chunks", "bigint"),
    "corpora": """
        SELECT t.xmin AS xmin, t.corpus, r.chunks, 0::bigint AS total_length
        FROM {base}.corpora t JOIN (
            SELECT corpus, sum(chunks)::bigint AS chunks FROM {own}.repos GROUP BY corpus
        ) AS r USING (corpus)
    """,
}
_NONE = ("runs", "sync_items", "sync_state", "embedding_cache")
"""Tables about sources and ingestions: their views are empty."""


def views_schema(schema: str) -> str:
    """The schema of the views on the tables of ``schema``."""
    return f"crosscorpusviews_{hashlib.blake2b(schema.encode(), digest_size=12).hexdigest()}"


def make_views(conn: psycopg.Connection[TupleRow], schema: str) -> None:
    """Recreate the views for the tables' current columns; keep the privileges to read them."""
    readers = conn.execute(
        "SELECT DISTINCT grantee::text FROM information_schema.role_table_grants"
        " WHERE table_schema = %s AND grantee <> grantor",
        (views_schema(schema),),
    ).fetchall()
    drop_views(conn, schema)
    own, base = sql.Identifier(views_schema(schema)), sql.Identifier(schema)
    conn.execute(sql.SQL("CREATE SCHEMA {}").format(own))
    views = {**_VIEWS, **dict.fromkeys(_NONE, "SELECT t.* FROM {base}.{table} t WHERE false")}
    order = sorted(views, key=lambda name: name == "corpora")  # it reads another view
    for name in order:
        made = sql.SQL("CREATE VIEW {own}.{table} AS " + views[name])
        conn.execute(made.format(own=own, base=base, table=sql.Identifier(name)))
    for (reader,) in readers:
        let_read(conn, schema, reader)


def let_read(conn: psycopg.Connection[TupleRow], schema: str, role: str) -> None:
    """Grant ``role`` the right to read the views."""
    own, to = sql.Identifier(views_schema(schema)), sql.Identifier(role)
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(own, to))
    conn.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}").format(own, to))


def drop_views(conn: psycopg.Connection[TupleRow], schema: str) -> None:
    """Drop the views, before a table's column is dropped or the tables are."""
    own = sql.Identifier(views_schema(schema))
    conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(own))
