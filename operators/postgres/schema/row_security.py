"""A second line of defence on your own server: a role for the service that owns no table.

The service reads the views, which run with their owner's privileges. Row-level security hides every
row of a document in the tables from the role, so a statement that bypasses the views returns
nothing. The policies do not apply to the owner, who ingests. Searches are as fast as without the
role, because they read the views and no policy applies there.
"""

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError
from operators.postgres.schema.caller_views import SETTING, let_read, make_views

_SEEN = f"access = ANY (nullif(current_setting('{SETTING}', true), '')::bigint[])"
_BY_DOCUMENT = (
    "EXISTS (SELECT 1 FROM {base}.documents d WHERE d.document_key = {table}.document_key)"
)
POLICIES = {
    **dict.fromkeys(("documents", "chunks", "postings"), _SEEN),
    **dict.fromkeys(("document_versions", "superseded_chunks", "document_sketches"), _BY_DOCUMENT),
}
"""The tables with one row a document or passage, and the condition on rows that the role sees."""

COUNTED = (
    *("collection", "migrations", "corpora", "repos", "terms", "versioned_corpora", "runs"),
    *("sync_state", "access_classes", "rights"),
)
"""Tables that the service itself reads: names, counts, and the classes of callers."""


def enable_row_security(conn: psycopg.Connection[TupleRow], schema: str, role: str) -> None:
    """Let ``role`` read the views of callers, but no document in the tables of ``schema``.

    A second call for the same role changes nothing; other roles may be added.

    Raises:
        CrosscorpusError: there is no such role, or it owns the tables or bypasses the policies.
    """
    known = conn.execute(
        "SELECT r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, n.nspowner, 'USAGE')"
        " FROM pg_roles r, pg_namespace n WHERE r.rolname = %s AND n.nspname = %s",
        (role, schema),
    ).fetchone()
    if known is None:
        raise CrosscorpusError(f"no role {role!r}: have an administrator run CREATE ROLE ... LOGIN")
    if known[0]:
        raise CrosscorpusError(
            f"role {role!r} owns the collection or is a superuser, whom no policy binds: take"
            " another one for the service"
        )
    base, to = sql.Identifier(schema), sql.Identifier(role)
    make_views(conn, schema)
    conn.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(base, to))
    releases = sql.Identifier(schema, "releases")  # otherwise it runs with its owner's privileges
    conn.execute(sql.SQL("ALTER VIEW {} SET (security_invoker = true)").format(releases))
    for table in (*POLICIES, *COUNTED, "releases"):
        of = sql.Identifier(schema, table)
        conn.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(of, to))
    for table, condition in POLICIES.items():
        of, name = sql.Identifier(schema, table), sql.Identifier(table)
        conn.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(of))
        conn.execute(sql.SQL("DROP POLICY IF EXISTS seen ON {}").format(of))
        policy = sql.SQL("CREATE POLICY seen ON {of} FOR SELECT USING (" + condition + ")")
        conn.execute(policy.format(of=of, base=base, table=name))
    let_read(conn, schema, role)
