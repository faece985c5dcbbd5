"""What a database error means for the person who reads it: one line, no secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from operators.errors import CrosscorpusError

SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
ENABLE_VECTOR = "CREATE EXTENSION vector"


class DatabaseError(CrosscorpusError):
    """A database that does not do what is asked of it; kind is a stable word for programs."""

    def __init__(self, kind: str, text: str) -> None:
        """Keep the kind beside the line of text."""
        super().__init__(text)
        self.kind = kind


CONNECTING = frozenset({"no SQLSTATE"})
WRITTEN = "postgresql://user:password@host:5432/database"
# kind, SQLSTATEs, words of a message (a failed connection carries no SQLSTATE), and what to say
# of it: {to} is the address, {db} the database, {user} the role, {said} the server's own line.
Rule = tuple[str, frozenset[str], str, str]
RULES: tuple[Rule, ...] = (
    (
        "wrong_password",
        frozenset({"28P01"}),
        r"password authentication failed|no password supplied|empty password",
        "{to} refused the password of user {user}: correct it in CROSSCORPUS_DSN",
    ),
    (
        "missing_role",
        CONNECTING,
        r'role "[^"]*" (does not exist|is not permitted to log in)',
        "{to} lets no user {user} in: correct the user in CROSSCORPUS_DSN, or have an "
        "administrator run: CREATE ROLE {user} LOGIN",
    ),
    (
        "not_admitted",
        frozenset({"28000"}),
        r"no pg_hba\.conf entry|pg_hba\.conf rejects",
        "{to} admits no connection of user {user} from this machine: have an administrator add it "
        "to the server's pg_hba.conf ({said})",
    ),
    (
        "missing_database",
        frozenset({"3D000"}),
        r'database "[^"]*" does not exist',
        "{to} has no database {db}: correct the name in CROSSCORPUS_DSN, or run: createdb {db}",
    ),
    (
        "too_many_connections",
        frozenset({"53300"}),
        r"too many clients|remaining connection slots|too many connections",
        "{to} has no free connection: close other programs that use it, or raise max_connections",
    ),
    (
        "starting",
        frozenset({"57P03"}),
        r"is starting up|not yet accepting connections|in recovery mode|is shutting down",
        "{to} is starting or stopping: try again in a moment",
    ),
    (
        "no_tls",
        CONNECTING,
        # What else goes wrong with SSL is a connection that was lost.
        r"certificate|private key|sslmode|not support SSL|SSL (connection )?(is|was) required"
        r"|SSL not in use|non-SSL|not compiled in|during SSL|ALPN| alert |handshake failure"
        r"|wrong version|protocol version|unsupported protocol|no protocols|no (shared )?cipher",
        "no secure connection to {to} ({said}): correct sslmode or sslrootcert in CROSSCORPUS_DSN",
    ),
    (
        # Nothing of it is repeated: with a bare / in a password the rest of that is the port.
        "bad_dsn",
        CONNECTING,
        r"invalid (integer value|port number|\w+ value:)|bad value for connect_timeout"
        r"|Servname not supported|could not match \d+",
        "CROSSCORPUS_DSN has a port, or another option, with a value that it cannot have: write it "
        f"as {WRITTEN}, a / in the password as %2F",
    ),
    (
        "no_server",
        frozenset({"08000", "08001", "08003", "08004", "08006", "57P01", "57P02"}),
        r"Connection refused|No such file or directory|could not translate host|timeout expired"
        r"|not known|unreachable|server closed the connection|No route to host|name resolution"
        r"|resolve host|timed out|connection is closed|connection is lost|Connection reset"
        r"|terminating connection|SSL connection has been closed|SSL (SYSCALL )?error",
        "no Postgres answers at {to}: start it or correct CROSSCORPUS_DSN; without "
        "CROSSCORPUS_DSN an embedded server is started",
    ),
    (
        "extension_not_installed",
        frozenset(),
        r'extension "[^"]*" is not available|could not open extension control file',
        "the server {to} has no pgvector: have an administrator install it there "
        f"(package postgresql-NN-pgvector), then run in database {{db}}: {ENABLE_VECTOR}",
    ),
    (
        "missing_extension",
        frozenset(),
        r'type "(\w+\.)?(vector|halfvec|sparsevec)(\[\])?" does not exist'
        r"|operator does not exist: .*<(=|#|-|\+)>|function (\w+\.)?halfvec\w*\(",
        "database {db} at {to} has no extension vector: have an administrator run in it: "
        f"{ENABLE_VECTOR}",
    ),
    (
        "lost_vectors",
        frozenset(),
        r'column "?(\w+\.)?(embedding|bm25)"? (of .*)?does not exist',
        "a collection in database {db} at {to} has lost its vectors ({said}): ingest its sources "
        "into another collection",
    ),
    (
        "no_collection",
        frozenset({"42P01", "3F000"}),
        r'(relation|schema) "[^"]*" does not exist',
        "the collection is gone from database {db} at {to} ({said}): it was dropped meanwhile, and "
        "ingesting into it makes it anew",
    ),
    (
        "read_only",
        frozenset({"25006"}),
        r"read-only transaction",
        "user {user} may only read database {db} at {to}: searching works, writing needs a role "
        "(and a server) that may write",
    ),
    (
        "not_allowed",
        frozenset({"42501"}),
        r"permission denied|must be owner",
        "user {user} lacks a privilege in database {db} at {to} ({said}): have an administrator "
        "grant it",
    ),
    (
        "wrong_dimension",
        frozenset(),
        r"expected \d+ dimensions, not \d+|different \w+ dimensions \d+ and \d+",
        "the vectors are of another embedding model than the stored ones ({said}): use the "
        "collection's model, or ingest into a new collection",
    ),
    (
        "disk_full",
        frozenset({"53100"}),
        r"No space left on device",
        "the disk of {to} is full: free some space and run this again, nothing is lost",
    ),
    (
        "timed_out",
        frozenset({"57014"}),
        r"statement timeout",
        "{to} took longer than allowed and was interrupted",
    ),
)
# A connection that failed for one of these fails again, however often it is tried.
PERMANENT = frozenset(
    {
        *("wrong_password", "missing_role", "not_admitted", "missing_database", "no_tls"),
        *("not_allowed", "bad_dsn"),
    }
)
# Classes of SQLSTATE (data exception, program limit): what was sent can never be taken.
UNFIT = ("22", "54")


def explain(error: BaseException, dsn: str) -> CrosscorpusError:
    """Return the one-line error that says what is wrong and what to do.

    Our own errors come back as they are. No password or other secret of dsn is in the text.
    """
    if isinstance(error, CrosscorpusError):
        return error
    try:
        parts = {k: str(v) for k, v in conninfo_to_dict(dsn).items() if v is not None}
    except psycopg.ProgrammingError:
        return DatabaseError(
            "bad_dsn",
            f"CROSSCORPUS_DSN is not a Postgres address: write it as {WRITTEN}",
        )
    facts = {
        "to": _target(parts),
        "db": parts.get("dbname") or parts.get("user") or "(default)",
        "user": parts.get("user") or "(default)",
        "said": _without_secrets(_said(error), parts),
    }
    if isinstance(error, PoolTimeout | TooManyRequests):
        text = "no free connection to {to} in time: it is away, or all connections are busy"
        return DatabaseError("busy", text.format(**facts))
    if isinstance(error, PoolClosed):
        return DatabaseError("closed", "the store was closed: open it again")
    for kind, states, words, text in RULES:
        if _matches(error, states, words):
            return DatabaseError(kind, text.format(**facts))
    state = getattr(error, "sqlstate", None) or ""
    kind = "unfit_value" if state.startswith(UNFIT) else "other"
    return DatabaseError(kind, "the database at {to} says: {said}".format(**facts))


@contextmanager
def explained(dsn: str) -> Iterator[None]:
    """Turn any psycopg error raised inside the with block into its one-line explanation."""
    try:
        yield
    except psycopg.Error as error:
        found = explain(error, dsn)
        # The parser's message repeats the piece it cannot read, which may be the password.
        hide = isinstance(found, DatabaseError) and found.kind == "bad_dsn"
        raise found from (None if hide else error)


def is_transient(error: BaseException) -> bool:
    """Say whether the same work, done again from its start, may well succeed.

    An OperationalError with SQLSTATE 57P0x, 08xxx, 40001 or 40P01, or with none: a lost
    connection. Not when the server refused who we are, nor when the pool itself gave up.
    """
    if not isinstance(error, psycopg.OperationalError):
        return False
    if isinstance(error, PoolTimeout | PoolClosed | TooManyRequests):
        return False
    state = error.sqlstate
    if state is None:
        return not any(
            kind in PERMANENT and _matches(error, states, words) for kind, states, words, _ in RULES
        )
    return state.startswith(("57P0", "08")) or state in {"40001", "40P01"}


def masked(dsn: str) -> str:
    """Return a DSN's server and database for people: no secrets, whatever it holds."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return "(unreadable DSN)"
    return f"{_target({k: str(v) for k, v in parts.items() if v})}/{parts.get('dbname') or ''}"


def _matches(error: BaseException, states: frozenset[str], words: str) -> bool:
    state = getattr(error, "sqlstate", None)
    if state is not None and states:
        return state in states
    return re.search(words, str(error)) is not None


def _target(parts: dict[str, str]) -> str:
    host = parts.get("host") or parts.get("hostaddr") or "the local socket"
    if host.startswith(("/", "@")) or host == "the local socket":
        return host
    return f"{host}:{parts.get('port') or '5432'}"


def _said(error: BaseException) -> str:
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = primary or " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"^.*?(FATAL|ERROR): +", "", text)


def _without_secrets(text: str, parts: dict[str, str]) -> str:
    for name in SECRETS:
        if parts.get(name):
            text = text.replace(parts[name], "***")
    return text
