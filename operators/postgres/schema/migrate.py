"""Brings a collection's schema up to date: numbered SQL files, each applied once.

All pending files run in one transaction, so that a collection is of one release or of another. The
SHA-256 of each is recorded: a file that is edited after it was applied raises an error, so servers
do not differ silently.
"""

import hashlib
import re
import time
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.errors import CrosscorpusError
from operators.postgres.schema.caller_views import drop_views, make_views, views_schema

MIGRATIONS = Path(__file__).with_name("migrations")
WAIT_S = 60.0
"""Timeout of the lock, if another process migrates the same schema."""


class MigrationError(CrosscorpusError):
    """The schema on the server does not match the local migration files."""


def apply_migrations(
    conn: psycopg.Connection[TupleRow],
    schema: str,
    search_path: str,
    *,
    whole: bool = True,
) -> list[str]:
    """Apply the pending migrations to ``schema``; return their names in order.

    ``conn`` must not be inside a transaction. The schema is created if it does not exist, ``whole``
    on one node of a cluster or not. The files run with ``search_path``, which begins with the
    schema. A lock serialises processes that migrate one schema; they wait up to ``WAIT_S``.

    Raises:
        MigrationError: an applied file has changed or is missing, or another process has the lock.
    """
    with conn.transaction():
        _take_turn(conn, schema, time.monotonic() + WAIT_S)
        # IF NOT EXISTS would use what this session cached before it had the lock.
        if not schema_exists(conn, schema):
            # with Citus, a collection is whole on one of its nodes; elsewhere nothing reads it
            sharding = f"citus.enable_schema_based_sharding = {'on' if whole else 'off'}"
            conn.execute(f"SET LOCAL {sharding}")
            conn.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        known = _known(conn, schema, search_path)
        _check_unchanged(known)
        files = sorted(MIGRATIONS.glob("[0-9]*.sql"))
        pending = [path for path in files if path.name not in known]
        seen = bool(pending) and schema_exists(conn, views_schema(schema))
        if seen:
            drop_views(conn, schema)
        for path in pending:
            for statement in statements(path.read_text("utf-8")):
                conn.execute(statement.encode())
        conn.execute(
            "INSERT INTO migrations (name, sha256) SELECT * FROM unnest(%s::text[], %s::text[])",
            ([path.name for path in pending], [_sha256(path) for path in pending]),
        )
        if seen:
            make_views(conn, schema)
    return [path.name for path in pending]


def statements(text: str) -> list[str]:
    """The statements of an SQL file, one by one: Citus accepts only single statements.

    >>> statements("CREATE TABLE a (b int); -- why; so\\nDO $$ BEGIN; END $$;")
    ['CREATE TABLE a (b int)', 'DO $$ BEGIN; END $$']
    """
    parts = re.findall(r"(?:\$\$.*?\$\$|[^;])+", re.sub(r"--[^\n]*", "", text), re.DOTALL)
    return [part.strip() for part in parts if part.strip()]


def pending_migrations(conn: psycopg.Connection[TupleRow], schema: str) -> list[str]:
    """Return the names of the files that ``schema`` lacks, without writing anything.

    Raises:
        MigrationError: an applied file has changed or is missing, or an older version made it.
    """
    table = sql.Identifier(schema, "migrations")
    known: dict[str, str] = {}
    if conn.execute("SELECT to_regclass(%s)", (table.as_string(conn),)).fetchone() != (None,):
        known = dict(conn.execute(sql.SQL("SELECT name, sha256 FROM {}").format(table)).fetchall())
    _check_unchanged(known)
    return [path.name for path in sorted(MIGRATIONS.glob("[0-9]*.sql")) if path.name not in known]


def planned_changes(conn: psycopg.Connection[TupleRow], schema: str) -> list[str]:
    """What the pending migrations of ``schema`` will do, a line each; empty if it does not exist.

    Raises:
        MigrationError: as :func:`pending_migrations`.
    """
    names = pending_migrations(conn, schema) if schema_exists(conn, schema) else []
    firsts = ((name, (MIGRATIONS / name).read_text("utf-8").split("\n", 1)[0]) for name in names)
    return [f"{name.removesuffix('.sql')}: {first.removeprefix('-- ')}" for name, first in firsts]


def predates(name: str) -> bool:
    """Whether ``name`` is a migration of a version from before the oldest file."""
    return name < min(path.name for path in MIGRATIONS.glob("[0-9]*.sql"))


def schema_exists(conn: psycopg.Connection[TupleRow], schema: str) -> bool:
    """Whether the database has ``schema``."""
    row = conn.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    return row is not None


def _take_turn(conn: psycopg.Connection[TupleRow], schema: str, deadline: float) -> None:
    lock = "SELECT pg_try_advisory_xact_lock(hashtextextended('migrate ' || %s, 0))"
    while conn.execute(lock, (schema,)).fetchone() != (True,):
        if time.monotonic() > deadline:
            raise MigrationError(
                f"another process is still migrating schema {schema!r}: wait for it, or end it"
            )
        time.sleep(0.05)


def _known(conn: psycopg.Connection[TupleRow], schema: str, search_path: str) -> dict[str, str]:
    conn.execute("SELECT set_config('search_path', %s, true)", (search_path,))
    conn.execute(
        sql.SQL(
            "CREATE TABLE IF NOT EXISTS {} (name text PRIMARY KEY, sha256 text NOT NULL,"
            " applied_at timestamptz NOT NULL DEFAULT now())"
        ).format(sql.Identifier(schema, "migrations"))
    )
    return dict(conn.execute("SELECT name, sha256 FROM migrations").fetchall())


def _check_unchanged(known: dict[str, str]) -> None:
    for name, sha in known.items():
        path = MIGRATIONS / name
        if predates(name):
            raise MigrationError(
                f"the collection was made by an older version (migration {name}), whose tables this"
                " one cannot read: drop it (crosscorpus collections drop NAME), and ingest again"
            )
        if not path.exists():
            raise MigrationError(
                f"the collection was made by a newer version (migration {name}): upgrade this one"
            )
        if _sha256(path) != sha:
            raise MigrationError(
                f"migration {name} was edited after it was applied: restore it and add a new file"
            )


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
