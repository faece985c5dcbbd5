"""Connections: the choice of the server, a connection pool, and recovery after a server crash."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, TypeVar

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from operators.foundation.data_dir import data_home
from operators.postgres.errors import (
    ENABLE_VECTOR,
    DatabaseError,
    address_parts,
    explain,
    explained,
    is_transient,
)
from operators.postgres.server.pg_environment import undisturbed

T = TypeVar("T")
CONNECT_TIMEOUT_S = 10
ATTEMPTS, PAUSE_S = 6, 0.05
# halfvec and sparsevec came with 0.7, iterative scans with 0.8.
OLDEST_PGVECTOR = (0, 8)

SESSION = {
    "client_encoding": "UTF8",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "standard_conforming_strings": "on",
}
"""Settings that statements and psycopg rely on, whatever the server, the role and the shell set.

A server reports them at each connection, so that none is set where it holds already, and a pooler
such as pgbouncer keeps them for each client.
"""

TRANSACTION = {"TimeZone": "UTC", "extra_float_digits": "1", "bytea_output": "hex"}
"""Settings for one transaction: poolers do not keep the last two for a client.

In time zones west of UTC the earliest timestamps are before Python's first year.
"""


class RevivingConnection(psycopg.Connection[TupleRow]):
    """A connection that restarts a dead embedded server.

    It restarts only a server that this process has joined. Any other address fails as usual.
    """

    @classmethod
    def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """Connect; start a dead embedded server first, and set ``SESSION``."""
        connection = cls._connected(conninfo, **kwargs)
        try:
            _set_session(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @classmethod
    def _connected(cls, conninfo: str, **kwargs: Any) -> Self:
        server = None
        if os.name != "nt":
            from operators.postgres.server.embedded_server import server_for

            server = server_for(conninfo)
        if server is None:
            return super().connect(conninfo, **kwargs)
        try:
            with undisturbed():
                return super().connect(conninfo, **kwargs)
        except psycopg.OperationalError as error:
            if not is_transient(error):
                raise
        server.ensure()
        with undisturbed():
            return super().connect(conninfo, **kwargs)


class Pool(ConnectionPool[psycopg.Connection[TupleRow]]):
    """A pool for all threads; a quarter is ``spare``, for searches that use several connections."""

    def __init__(self, conninfo: str, **options: Any) -> None:
        super().__init__(conninfo, **options)
        self.spare = threading.BoundedSemaphore(max(1, self.max_size // 4))


class VectorExtension(NamedTuple):
    """The extension pgvector in a database: its version and the schema of its types."""

    version: str
    schema: str


def resolve_dsn(*, reading: bool = False) -> str:
    """Return CROSSCORPUS_DSN, or the address of the embedded server, started if necessary.

    With ``reading``, CROSSCORPUS_READ_DSN comes first. This process stays registered as a user of
    the embedded server until it ends.

    Raises:
        DatabaseError: only CROSSCORPUS_READ_DSN is set, which does not allow writing.
        ServerError: the embedded server cannot run here.
    """
    dsn, replica = (os.environ.get(f"CROSSCORPUS_{of}", "").strip() for of in ("DSN", "READ_DSN"))
    if dsn or replica:
        if not dsn and not reading:
            raise DatabaseError("no_server", "set CROSSCORPUS_DSN: CROSSCORPUS_READ_DSN only reads")
        return (reading and replica) or dsn
    from operators.postgres.server.embedded_server import in_use, start

    directory = data_home() / "postgres"
    return (in_use(directory) or start(directory)).dsn


def connect(dsn: str, *, autocommit: bool = False) -> RevivingConnection:
    """Return one connection outside any pool, for few statements, which it does not prepare.

    Raises:
        DatabaseError: the connection failed; says why in one line.
    """
    with explained(dsn):
        return RevivingConnection.connect(dsn, autocommit=autocommit, **_options(dsn, False))


def is_pooled(conn: psycopg.Connection[Any]) -> bool:
    """Whether a pooler such as pgbouncer is in between: then another process answers.

    A pooler that gives each transaction another connection loses prepared statements, or has those
    of another client.
    """
    row = conn.execute("SELECT pg_backend_pid()").fetchone()
    return row is None or row[0] != conn.info.backend_pid


def open_pool(dsn: str, *, pooler: bool = False, max_size: int = 8) -> Pool:
    """Return an open pool; the caller closes it.

    The pool checks every connection before a caller gets it. If one is lost, the server has
    probably crashed: the pool then replaces all of them. The pool uses no session settings but
    those of ``SESSION``, so a transaction pooler may be in between; pooler=True also avoids
    prepared statements.

    Raises:
        DatabaseError: the connection failed; says why in one line.
    """
    connect(dsn).close()
    pool: Pool

    def check(connection: psycopg.Connection[TupleRow]) -> None:
        try:
            ConnectionPool.check_connection(connection)
        except psycopg.OperationalError:
            pool.drain()
            raise

    pool = Pool(
        dsn,
        connection_class=RevivingConnection,
        kwargs=_options(dsn, not pooler),
        min_size=min(2, max_size),
        max_size=max_size,
        check=check,
        open=True,
        name="crosscorpus",
    )
    return pool


def retrying(work: Callable[[], T]) -> T:
    """Return work(), which is retried after a transient error.

    work must own its whole transaction: it takes the connection, commits and returns it.

    Raises:
        psycopg.Error: the last error, if retries fail or it is not transient.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return work()
        except psycopg.Error as error:
            if not is_transient(error):
                raise
            time.sleep(PAUSE_S * 2**attempt * random.uniform(0.5, 1.0))
    return work()


def ensure_vector(conn: psycopg.Connection[Any]) -> VectorExtension:
    """Create the extension pgvector if it is missing, and return its version and schema.

    Needs its own transaction or autocommit: a refused CREATE EXTENSION is rolled back.

    Raises:
        DatabaseError: it is missing, too old or in a schema that the role may not use; says which
            command an administrator must run.
    """
    vector = _vector(conn)
    if vector is None:
        _create_vector(conn)
        vector = _vector(conn)
    if vector is None:
        raise explain(psycopg.errors.UndefinedObject('type "vector" does not exist'), conn.info.dsn)
    if _is_old(vector.version):
        raise DatabaseError(
            "old_extension",
            f"database {conn.info.dbname} has pgvector {vector.version} and 0.8 is needed: have an "
            "administrator run in it: ALTER EXTENSION vector UPDATE",
        )
    usable = conn.execute("SELECT has_schema_privilege(%s, 'USAGE')", (vector.schema,)).fetchone()
    if usable != (True,):
        names = [sql.Identifier(n).as_string(conn) for n in (vector.schema, conn.info.user)]
        raise DatabaseError(
            "not_allowed",
            f"the extension vector of database {conn.info.dbname} is in a schema that user "
            f"{conn.info.user} may not use: have an administrator run in it: "
            f"GRANT USAGE ON SCHEMA {names[0]} TO {names[1]}",
        )
    return vector


def nodes(conn: psycopg.Connection[Any]) -> dict[str, tuple[bool, str]]:
    """The workers of a cluster by ``HOST:PORT``: whether each can hold a collection, and why not.

    A worker with an older pgvector would return partial results, as it ignores unknown settings.
    The text of a usable worker has its versions. {} without a cluster.
    """
    if not has_extension(conn, "citus"):
        return {}
    versions = (
        "SELECT split_part(version(), ' ', 2) || ' ' || max(extversion) FROM pg_extension"
        " WHERE extname = 'vector'"
    )
    rows = conn.execute(
        "SELECT nodename || ':' || nodeport, success, result FROM run_command_on_workers(%s)"
        " ORDER BY 1",
        (versions,),
    )
    states = {}
    for node, reached, result in rows:
        postgres, _, vector = result.partition(" ")
        if not reached:
            states[node] = False, f"is away ({result.splitlines()[0]}): start it"
        elif not result or _is_old(vector):
            has = f"pgvector {vector}, 0.8 is needed" if vector else "no pgvector"
            does = "ALTER EXTENSION vector UPDATE" if vector else ENABLE_VECTOR
            states[node] = False, f"has {has}: have an administrator run in its database: {does}"
        else:
            states[node] = True, f"Postgres {postgres}, pgvector {vector}"
    return states


def check_nodes(conn: psycopg.Connection[Any]) -> None:
    """Check that each worker of a cluster can hold a collection.

    Raises:
        DatabaseError: one can't; says which, and what an administrator must do.
    """
    for node, (fit, says) in nodes(conn).items():
        if not fit:
            raise DatabaseError("unfit_node", f"node {node} {says}")


def has_extension(conn: psycopg.Connection[Any], name: str) -> bool:
    """Whether the database has an extension; with ``citus`` it is a cluster."""
    row = conn.execute("SELECT 1 FROM pg_extension WHERE extname = %s", (name,))
    return row.fetchone() is not None


def _is_old(version: str) -> bool:
    return tuple(int(part) for part in version.split(".") if part.isdigit()) < OLDEST_PGVECTOR


def set_locally(conn: psycopg.Connection[Any], values: Mapping[str, str]) -> None:
    """Set server parameters for the current transaction, in one statement."""
    calls = ", ".join(["set_config(%s, %s, true)"] * len(values))
    conn.execute(f"SELECT {calls}", [part for pair in values.items() for part in pair])


def _set_session(conn: psycopg.Connection[Any]) -> None:
    """Set what differs from ``SESSION``."""
    reported = {name: conn.info.parameter_status(name) or "" for name in SESSION}
    differing = [
        sql.SQL("SET {} TO {}").format(sql.Identifier(name), sql.Literal(value))
        for name, value in SESSION.items()
        if reported[name].partition(",")[0] != value
    ]
    if differing:
        conn.execute(sql.SQL("; ").join(differing))
        if not conn.autocommit:
            conn.commit()


def _create_vector(conn: psycopg.Connection[Any]) -> None:
    with explained(conn.info.dsn):
        try:
            with conn.transaction():
                # Of two concurrent first users, the second waits here and then has nothing to do.
                conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('pgvector', 0))")
                conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.errors.InsufficientPrivilege:
            raise DatabaseError(
                "missing_extension",
                f"database {conn.info.dbname} has no extension vector and user {conn.info.user} "
                f"may not add it: have an administrator run in it: {ENABLE_VECTOR}",
            ) from None
        except psycopg.errors.InvalidSchemaName:
            user = sql.Identifier(conn.info.user).as_string(conn)
            raise DatabaseError(
                "missing_extension",
                f"database {conn.info.dbname} has no extension vector and no schema public for it: "
                "have an administrator run in it: CREATE SCHEMA extensions; GRANT USAGE ON SCHEMA "
                f"extensions TO {user}; {ENABLE_VECTOR} SCHEMA extensions",
            ) from None


def _vector(conn: psycopg.Connection[Any]) -> VectorExtension | None:
    row = conn.execute(
        "SELECT e.extversion, n.nspname FROM pg_extension e"
        " JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
    ).fetchone()
    return VectorExtension(*row) if row else None


def _options(dsn: str, prepare: bool) -> dict[str, Any]:
    """Return the connection options that the address does not set."""
    options: dict[str, Any] = {} if prepare else {"prepare_threshold": None}
    if "connect_timeout" not in address_parts(dsn):
        options["connect_timeout"] = CONNECT_TIMEOUT_S
    return options
