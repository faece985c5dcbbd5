"""Explains database errors to users: one line, no secrets."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from operators.errors import CrosscorpusError

SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
ENABLE_VECTOR = "CREATE EXTENSION vector"


class DatabaseError(CrosscorpusError):
    """A database refuses or fails; ``kind`` is a stable word for programs."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.plain = kind, f"the collection does not answer: {kind.replace('_', ' ')}"

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is unpickled in another process."""
        return type(self), (self.kind, str(self))


class Rule(NamedTuple):
    """An error, recognised by its SQLSTATE or, without one, by the text of its message.

    ``advice`` has the fields {to}, the address; {db}, the database; {user}, the role; {said}, the
    server's own line; {variable}, the setting with the address. A ``permanent`` connection error
    recurs at every attempt.
    """

    kind: str
    words: str
    advice: str
    states: frozenset[str] = frozenset()
    permanent: bool = False


WRITTEN = "postgresql://user:password@host:5432/database"
ESCAPES = "in user and password @ as %40, / as %2F, : as %3A, # as %23, ? as %3F, % as %25"
_DISK_FULL = (
    "the disk of the server at {to} is full ({said}): make room in its data directory, then run "
    "the same command again"
)
_LOG_FILE = 16 * 1024 * 1024  # bytes of a file of the write-ahead log
RULES = (
    Rule(
        # The message is not quoted: after a bare / in a password, the rest is taken for the port.
        "bad_dsn",
        r"invalid (integer value|port number|\w+ value:)|bad value for connect_timeout"
        r"|Servname not supported|could not match \d+",
        "{variable} has a port, or another option, with a value that it cannot have: write it "
        f"as {WRITTEN}, {ESCAPES}",
        states=frozenset({"no SQLSTATE"}),
        permanent=True,
    ),
    Rule(
        "node_away",
        r"connection to the remote node|connection marked as essential",
        "a node of the cluster of {to} is away ({said}): its log says why, as a full disk; start "
        "it; collections that are on other nodes answer",
        permanent=True,
    ),
    Rule(
        "not_allowed",
        r"permission denied|must be owner|read-only transaction",
        "user {user} lacks a privilege in database {db} at {to} ({said}): searching needs to read, "
        "ingesting to create and write; have an administrator grant it, or name the primary in "
        "CROSSCORPUS_DSN if this is a replica",
        states=frozenset({"42501", "25006"}),
        permanent=True,
    ),
    Rule(
        "refused",
        r"(password|SASL) authentication failed|no password supplied|empty password"
        r"|no such (user|database)"  # as pgbouncer says it
        r"|role .* (does not exist|is not permitted to log in)|pg_hba\.conf"
        r"|database .* does not exist"
        # Any other SSL error is a lost connection.
        r"|certificate|private key|sslmode|not support SSL|SSL (connection )?(is|was) required"
        r"|SSL not in use|non-SSL|not compiled in|during SSL|ALPN| alert |handshake failure"
        r"|wrong version|protocol version|unsupported protocol|no protocols|no (shared )?cipher",
        "{to} refuses the connection ({said}): correct user, password, database or SSL options in "
        "{variable}",
        states=frozenset({"28P01", "28000", "3D000"}),
        permanent=True,
    ),
    Rule(
        "pooler",
        r"unsupported startup parameter|command-line options",
        "the pooler at {to} takes no options of a session ({said}): leave `options` out of "
        "{variable} and unset PGOPTIONS, or list options in its ignore_startup_parameters",
        permanent=True,
    ),
    Rule(
        "pooler",
        r"statement pooling mode",
        "the pooler at {to} allows no transactions ({said}): set pool_mode = transaction there",
        permanent=True,
    ),
    Rule(
        "busy",
        r"too many (clients|connections)|remaining connection slots"
        r"|no more connections allowed|[Mm]ax client connections|query_wait_timeout",
        "the server at {to} has no connection left ({said}): try again, close connections of other "
        "programs, or have an administrator allow more",
    ),
    Rule(
        "missing_extension",
        r'type "(\w+\.)?(vector|halfvec|sparsevec)(\[\])?" does not exist'
        r"|operator does not exist: .*<(=|#|-|\+)>|function (\w+\.)?halfvec\w*\("
        r'|extension "[^"]*" is not available|could not open extension control file',
        "database {db} at {to} has no extension vector ({said}): have an administrator install "
        f"pgvector on the server (package postgresql-NN-pgvector) and run in it: {ENABLE_VECTOR}",
    ),
    Rule(
        "no_collection",
        r'(relation|schema) "[^"]*" does not exist',
        "the collection is gone from database {db} at {to} ({said}): it was dropped meanwhile, and "
        "ingesting into it makes it again",
        states=frozenset({"42P01", "3F000"}),
    ),
    Rule(
        "lost_vectors",
        r'column "?(\w+\.)?(embedding|bm25)"? (of .*)?does not exist',
        "a collection in database {db} at {to} has lost its vectors ({said}): ingest its sources "
        "into another collection",
    ),
    Rule("disk_full", r"No space left on device", _DISK_FULL, states=frozenset({"53100"})),
    Rule(
        "timed_out",
        r"statement timeout",
        "{to} took longer than allowed and was interrupted",
        states=frozenset({"57014"}),
    ),
)
# a user ends at the first @, a host at / or ?, as libpq reads them
_URI = re.compile(
    r"postgres(?:ql)?://(?:[^/@]*@)?(?P<host>[^/?]*)(?P<path>/[^?]*)?(?:\?.*)?", re.DOTALL
)
NO_SERVER = (
    "no Postgres answers at {to}: start it or correct {variable}; without {variable} "
    "{instead} ({said})"
)
# The kinds of all other errors, by the class of their SQLSTATE. The rest has the kind "other".
CLASSES = {
    "unfit_value": ("22", "54"),  # data exception, program limit: the value cannot be stored
    "away": ("08", "53300", "57"),  # connection lost, no connection left, shutdown
}


def explain(error: BaseException, dsn: str) -> CrosscorpusError:
    """Return the one-line error that says what is wrong and what to do.

    Our own errors come back unchanged. The text holds no password or other secret of dsn.
    """
    if isinstance(error, CrosscorpusError):
        return error
    replica = os.environ.get("CROSSCORPUS_READ_DSN", "").strip() == dsn != ""
    variable = "CROSSCORPUS_READ_DSN" if replica else "CROSSCORPUS_DSN"
    try:
        parts = {k: str(v) for k, v in address_parts(dsn).items() if v is not None}
    except psycopg.ProgrammingError:
        return DatabaseError(
            "bad_dsn", f"{variable} is not a Postgres address: write it as {WRITTEN}, {ESCAPES}"
        )
    facts = {
        "to": target(dsn),
        "variable": variable,
        "instead": "the primary is asked" if replica else "an embedded server is started",
        "db": parts.get("dbname") or parts.get("user") or "(default)",
        "user": parts.get("user") or "(default)",
        "said": _server_message(error, parts),
    }
    state = getattr(error, "sqlstate", None) or ""
    away = isinstance(error, PoolTimeout) or state.startswith(("57P", "58"))
    if (away or not state) and _has_no_room(parts.get("host") or ""):
        facts["said"] = "it has no room for its log"
        return DatabaseError("disk_full", _DISK_FULL.format(**facts))
    if isinstance(error, PoolTimeout | TooManyRequests):
        text = "no free connection to {to} in time: it is away, or all connections are busy"
        return DatabaseError("busy", text.format(**facts))
    if isinstance(error, PoolClosed):
        return DatabaseError("closed", "the store was closed: open it again")
    if rule := _rule_for(error):
        return DatabaseError(rule.kind, rule.advice.format(**facts))
    if isinstance(error, psycopg.OperationalError) and not state:
        return DatabaseError("no_server", NO_SERVER.format(**facts))
    kind = next((kind for kind, classes in CLASSES.items() if state.startswith(classes)), "other")
    return DatabaseError(kind, "the database at {to} says: {said}".format(**facts))


@contextmanager
def explained(dsn: str) -> Iterator[None]:
    """Turn any psycopg error of the with block into its one-line explanation."""
    try:
        yield
    except psycopg.Error as error:
        explanation = explain(error, dsn)
        # The parser's message quotes the part that it cannot parse, which may be the password.
        hide = isinstance(explanation, DatabaseError) and explanation.kind == "bad_dsn"
        raise explanation from (None if hide else error)


def is_transient(error: BaseException) -> bool:
    """Return whether a retry of the same work may succeed.

    True for an OperationalError with SQLSTATE 57P0x, 08xxx, 40001 or 40P01, or with none (a lost
    connection). False if authentication failed or the pool timed out. Also true if a prepared
    statement has a type's old OID (pgvector was created again): a rollback deallocates it.
    """
    if isinstance(error, psycopg.errors.InternalError_):
        return "cache lookup failed for type" in str(error)
    is_pool_error = isinstance(error, PoolTimeout | PoolClosed | TooManyRequests)
    if is_pool_error or not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate or "08"
    if state.startswith("08"):
        rule = _rule_for(error)
        return rule is None or not rule.permanent
    return state.startswith("57P0") or state in {"40001", "40P01"}


def is_node_away(error: BaseException) -> bool:
    """Whether the server answers, but a node of its cluster that holds the tables does not."""
    rule = _rule_for(error)
    return rule is not None and rule.kind == "node_away"


def _has_no_room(host: str) -> bool:
    """Whether ``host`` is the folder of a local server whose disk cannot take one more log file.

    Such a server stops in the middle of a transaction and stays "in recovery" until there is room.
    """
    try:
        return host.startswith("/") and shutil.disk_usage(host).free < _LOG_FILE
    except OSError:
        return False


def _rule_for(error: BaseException) -> Rule | None:
    return next((rule for rule in RULES if _matches(error, rule)), None)


def _matches(error: BaseException, rule: Rule) -> bool:
    state = getattr(error, "sqlstate", None)
    if state is not None and rule.states:
        return state in rule.states
    return re.search(rule.words, str(error)) is not None


def address_parts(dsn: str) -> dict[str, Any]:
    """The options in an address, as libpq parses it.

    Raises:
        psycopg.ProgrammingError: it is no address, or a bare @ or / in a password has made the rest
            of the password the host, its port or the database, which messages would show.
    """
    parts = conninfo_to_dict(dsn)
    if not (address := _URI.fullmatch(dsn)):
        return parts
    if "@" in address["host"] or "@" in (address["path"] or ""):
        raise psycopg.ProgrammingError("a bare @ or / in a user or a password")
    return parts


def target(dsn: str) -> str:
    """The address of the server of ``dsn``: host and port, or the folder of its socket.

    Raises:
        psycopg.ProgrammingError: it is no address.
    """
    parts = address_parts(dsn)
    host = str(parts.get("host") or parts.get("hostaddr") or "the local socket")
    if host.startswith(("/", "@")) or host == "the local socket":
        return host
    return f"{host}:{parts.get('port') or '5432'}"


def without_secrets(dsn: str) -> str:
    """``dsn`` without its password and other secrets; unchanged if it has none.

    >>> without_secrets("host=db user=me"), without_secrets("postgresql://me:secret@db/app")
    ('host=db user=me', 'user=me dbname=app host=db')

    Raises:
        psycopg.ProgrammingError: it is no address.
    """
    parts = address_parts(dsn)
    if not any(parts.get(name) for name in SECRETS):
        return dsn
    return make_conninfo(**{name: str(parts[name]) for name in parts if name not in SECRETS})


def _server_message(error: BaseException, parts: dict[str, str]) -> str:
    """The server's own line, without the secrets among the ``parts`` of its address."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    text = " ".join((primary or str(error)).split()) or type(error).__name__
    text = re.sub(r"^.*?(FATAL|ERROR): +", "", text)
    for name in SECRETS:
        if parts.get(name):
            text = text.replace(parts[name], "***")
    return text
