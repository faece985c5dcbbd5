"""A second wall, on a server of one's own: a role that owns nothing, for the service alone.

Callers are answered through the views, which run with the rights of their owner. The role reads
these. Of the tables it sees no row of a document (row-level security), so that a statement that
forgets the views finds nothing. The owner, who ingests, is not bound. Searches cost what they cost
without the wall, because no policy is on their way.
"""

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError
from operators.postgres.schema.caller_views import SETTING, let_read, make_views

_SEEN = f"access = ANY (nullif(current_setting('{SETTING}', true), '')::bigint[])"
_OF_DOCUMENT = (
    "EXISTS (SELECT 1 FROM {base}.documents d WHERE d.document_key = {table}.document_key)"
)
POLICIES = {
    **dict.fromkeys(("documents", "chunks", "postings"), _SEEN),
    **dict.fromkeys(("document_versions", "superseded_chunks", "document_sketches"), _OF_DOCUMENT),
}
"""The tables with a row a document or a passage, and the rows that the role may see of each."""

COUNTED = (
    *("collection", "migrations", "corpora", "repos", "terms", "versioned_corpora", "runs"),
    *("sync_state", "version_corrections", "access_classes", "rights"),
)
"""What the service reads for itself: names and numbers, and which class a caller is of."""


def raise_wall(conn: psycopg.Connection[TupleRow], schema: str, role: str) -> None:
    """Let ``role`` read the views of callers, and of the tables of ``schema`` no document.

    Once more for the same role changes nothing; another role may be added.

    Raises:
        CrosscorpusError: there is no such role, or it owns the tables or passes every policy.
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
    releases = sql.Identifier(schema, "releases")  # else it would run with its owner's rights
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
