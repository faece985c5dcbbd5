"""A collection: one Postgres schema that holds a data set, its vector space and its ledger.

Every statement of this package runs inside :meth:`Store.transaction`, which puts the collection's
schema first in ``search_path`` for that transaction only. So settings survive a connection pooler,
and one server holds many collections.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TypeAlias, TypeVar

import polars as pl
import psycopg
from psycopg import sql
from psycopg.rows import TupleRow

from operators.embedding.protocol import as_given
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.postgres.connection import (
    Pool,
    connect,
    ensure_vector,
    is_pooled,
    open_pool,
    resolve_dsn,
    retrying,
)
from operators.postgres.errors import explained
from operators.postgres.schema.tables import bring_up_to_date, check_vectors
from operators.postgres.state_cache import VersionedCache
from operators.postgres.superseded_counts import SupersededCounts, count_superseded

Connection: TypeAlias = psycopg.Connection[TupleRow]
Settings: TypeAlias = Mapping[str, str] | Callable[[], Mapping[str, str]]
T = TypeVar("T")

PREFIX = "crosscorpus_"
LONGEST_NAME = 63
LONGEST_INLINE_DIMENSIONS = 2048
INFO_SECONDS = 1.0

_COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class ModelMismatch(CrosscorpusError):
    """A collection holds vectors of one model and was given another."""


class MissingExtension(CrosscorpusError):
    """The server lacks an extension."""


@dataclass(frozen=True)
class CollectionInfo:
    """What a collection holds.

    Attributes:
        model: name of the embedding model, or None before one was set.
        space: fingerprint of the vector space, or None.
        dimensions: of its vectors, or None.
        corpora: chunks of each corpus that has any.
        repos: chunks of each repo, by corpus.
        superseded: of each corpus whose topics have versions, the chunks that a newer one replaces.
        versions_at: what stands for the present state of all versions; None while it changes.
        states: what stands for the present chunks of each corpus: another one after every change.
    """

    model: str | None
    space: str | None
    dimensions: int | None
    corpora: dict[str, int]
    repos: dict[str, dict[str, int]]
    superseded: dict[str, SupersededCounts] = field(default_factory=dict)
    versions_at: tuple[TupleRow, ...] | None = None
    states: dict[str, str] = field(default_factory=dict)

    @property
    def many_repos(self) -> bool:
        """Whether a path needs its repository: there are several, or a corpus has files of none."""
        named = {repo for of in self.repos.values() for repo in of if repo}
        return len(named) > 1 or any(len(of) > 1 for of in self.repos.values())


@dataclass
class StoreCache:
    """What a collection was last seen to hold, shared by the views of one store.

    Attributes:
        info: when it was read, and what was read.
        superseded: the state of all versions, and the superseded chunks in that state.
        versions: every version of every topic.
        pinned: the chunks of pinned versions, by corpus and versions.
        visible: the chunks that versions leave visible, by corpus and versions.
    """

    info: tuple[float, CollectionInfo] | None = None
    superseded: tuple[list[TupleRow], dict[str, SupersededCounts]] | None = None
    versions: VersionedCache[pl.DataFrame] = field(default_factory=VersionedCache)
    pinned: VersionedCache[tuple[str, str]] = field(default_factory=VersionedCache)
    visible: VersionedCache[str] = field(default_factory=VersionedCache)


@dataclass
class Store:
    """An open collection. Close it, or use it in a ``with`` block.

    Attributes:
        space: the vector space that its user embeds in; None: any is taken.
        cache: what was read of the collection and holds until that changes.
    """

    pool: Pool
    dsn: str = field(repr=False)
    collection: str
    schema: str
    search_path: str
    space: str | None = None
    cache: StoreCache = field(default_factory=StoreCache, repr=False)

    def embedding_in(self, space: str) -> Store:
        """A view of this store for vectors of ``space``.

        Whoever searches or writes through it is refused (``ModelMismatch``) as soon as the
        collection holds vectors of another space, also when that changes while it is open.
        """
        return replace(self, space=space)

    @contextmanager
    def transaction(
        self, settings: Settings | None = None, *, wait_s: float | None = None
    ) -> Iterator[Connection]:
        """One transaction with ``settings`` (server parameters) that end with it.

        ``wait_s`` bounds the wait for a free connection; a function gives its settings after it.
        """
        with self.pool.connection(timeout=wait_s) as conn, conn.transaction():
            given = settings() if callable(settings) else settings or {}
            # West of UTC the first moments of the calendar are of a year that Python lacks.
            values = {"search_path": self.search_path, "TimeZone": "UTC", **given}
            calls = ", ".join(["set_config(%s, %s, true)"] * len(values))
            conn.execute(f"SELECT {calls}", [part for pair in values.items() for part in pair])
            yield conn

    def run(self, work: Callable[[Connection], T], settings: Mapping[str, str] | None = None) -> T:
        """``work`` in one transaction, done again from its start when the connection was lost.

        Raises:
            DatabaseError: what the server said, in one line.
        """

        def attempt() -> T:
            with self.transaction(settings) as conn:
                return work(conn)

        with explained(self.dsn):
            return retrying(attempt)

    def forget_info(self) -> None:
        """Have the next :func:`collection_info` read the server again."""
        self.cache.info = None

    def close(self) -> None:
        """Close the pool's connections."""
        self.pool.close()

    def __enter__(self) -> Store:
        """Return the store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the store."""
        self.close()


def open_store(
    dsn: str | None = None,
    collection: str = "default",
    *,
    create: bool = False,
    max_size: int = 8,
) -> Store:
    """Open ``collection`` on the server that ``dsn`` names (default: the user's own).

    ``create`` makes the collection if there is none; ``max_size`` is the largest number of
    connections. A pooler in between, such as pgbouncer, is noticed and worked with.

    Raises:
        UnknownName: there is no such collection; names the nearest one.
        CrosscorpusError: the name is unfit, pgvector is missing, the collection has lost its
            vectors, or the server does not answer.
    """
    schema = schema_of(collection)
    dsn = dsn or resolve_dsn()
    with connect(dsn, autocommit=True) as conn, explained(dsn):
        pooler = is_pooled(conn)
        if not create and not _exists(conn, schema):
            raise UnknownName(
                f"no collection {collection!r}{suggest(collection, _collections(conn))}; "
                "ingesting into it makes it"
            )
        extension = ensure_vector(conn)
        row = conn.execute("SELECT current_setting('search_path')").fetchone()
        first = ", ".join(sql.Identifier(s).as_string(conn) for s in (schema, extension.schema))
        search_path = f"{first}, {row[0]}" if row and row[0] else first
        bring_up_to_date(conn, collection, schema, search_path)
        check_vectors(conn, collection, schema)
    pool = open_pool(dsn, pooler=pooler, max_size=max_size)
    return Store(pool, dsn, collection, schema, search_path)


def collections(dsn: str | None = None) -> list[str]:
    """Name the collections on a server, sorted."""
    dsn = dsn or resolve_dsn()
    with connect(dsn) as conn, explained(dsn):
        return _collections(conn)


def drop_collection(store_or_dsn: Store | str | None, name: str) -> None:
    """Delete the collection ``name`` with all that it holds.

    Raises:
        UnknownName: there is no such collection.
    """
    if isinstance(store_or_dsn, Store):
        store_or_dsn.run(lambda conn: _drop(conn, name))
        store_or_dsn.forget_info()
        return
    dsn = store_or_dsn or resolve_dsn()
    with connect(dsn) as conn, explained(dsn):
        _drop(conn, name)


def schema_of(collection: str) -> str:
    """The schema of ``collection``.

    >>> schema_of("default")
    'crosscorpus_default'

    Raises:
        CrosscorpusError: the name is not letters, digits, ``_``, ``.`` and ``-``, at most 200.
    """
    if not _COLLECTION_NAME.fullmatch(collection):
        raise CrosscorpusError(
            f"collection name {collection!r}: use 1 to 200 letters, digits, '_', '.' or '-'"
        )
    return identifier(PREFIX + collection)


def identifier(name: str) -> str:
    """``name`` itself if the server takes it whole, else its beginning and a hash of it all.

    >>> identifier("chunks_code")
    'chunks_code'
    >>> len(identifier("chunks_" + "é" * 100).encode()) <= 63
    True
    """
    raw = name.encode()
    if len(raw) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(raw).hexdigest()[:16]
    return raw[: LONGEST_NAME - 17].decode(errors="ignore") + "_" + digest


def set_model(store: Store, model: str, space: str, dimensions: int) -> None:
    """Fix the vector space of the collection: done once, before the first document is written.

    Raises:
        ModelMismatch: the collection has another model already; names both.
    """
    store.run(lambda conn: _set_model(conn, store.collection, model, space, dimensions))
    store.forget_info()


def collection_info(store: Store) -> CollectionInfo:
    """What the collection holds; read at most once a second a store."""
    cached = store.cache.info
    now = time.monotonic()
    if cached and now - cached[0] < INFO_SECONDS:
        return cached[1]
    head, rows, states, (found, superseded) = store.run(lambda conn: _read_info(conn, store.cache))
    repos: dict[str, dict[str, int]] = {}
    for corpus, repo, chunks in sorted(rows):
        repos.setdefault(corpus, {})[repo] = chunks
    model, space, dimensions = head
    corpora = {corpus: sum(of.values()) for corpus, of in repos.items()}
    at = tuple(found) if superseded.keys() <= {row[0] for row in found} else None
    info = CollectionInfo(model, space, dimensions, corpora, repos, superseded, at, states)
    store.cache.info = (now, info)
    return info


def check_space(store: Store, conn: Connection, *, hold: bool = False) -> None:
    """Raise ``ModelMismatch`` if ``store``'s space is no longer the collection's.

    ``hold`` keeps the collection's as it is until the transaction of ``conn`` ends.
    """
    if store.space is None:
        return
    row = conn.execute(
        "SELECT model, space FROM collection" + (" FOR SHARE" if hold else "")
    ).fetchone()
    if row is not None and row[1] is not None and row[1] != store.space:
        store.forget_info()
        raise space_changed(store, row[0], row[1])


def mismatch(collection: str, held: Sequence[object], given: Sequence[object]) -> ModelMismatch:
    """The error for a collection that was given another model; each a name, space and dimensions.

    The names may be the same: what a model directory's settings say is not in its name.
    """
    way = f"set embedding: {as_given(str(held[0]))} (when ingesting --model)"
    if held[0] == given[0]:
        way = "weights, pooling, prefixes or window differ: use the one that it was made with"
    return ModelMismatch(
        f"collection {collection!r} holds vectors of model {held[0]!r} ({held[2]} dimensions, "
        f"space {held[1]}) and was given {given[0]!r} ({given[2]} dimensions, space {given[1]}): "
        f"{way}, or use another collection"
    )


def space_changed(store: Store, model: str | None, space: str | None) -> ModelMismatch:
    """The error for a store that was opened for vectors that the collection no longer holds."""
    return ModelMismatch(
        f"collection {store.collection!r} has changed to model {model!r} (space {space}; it was "
        f"opened for {store.space}): open it again with embedding: {as_given(str(model))}"
    )


def _set_model(conn: Connection, collection: str, model: str, space: str, dimensions: int) -> None:
    row = conn.execute("SELECT model, space, dimensions FROM collection FOR UPDATE").fetchone()
    held = row or (None, None, None)
    if held[1] is None:
        add_vectors(conn, "embedding", dimensions)
        conn.execute(
            "UPDATE collection SET model = %s, space = %s, dimensions = %s",
            (model, space, dimensions),
        )
    elif (held[1], held[2]) != (space, dimensions):
        raise mismatch(collection, held, (model, space, dimensions))


def add_vectors(conn: Connection, column: str, dimensions: int) -> None:
    """Add a column of vectors to the chunks."""
    name = sql.Identifier(column)
    conn.execute(
        sql.SQL("ALTER TABLE chunks ADD COLUMN {} halfvec({})").format(
            name, sql.Literal(int(dimensions))
        )
    )
    if dimensions <= LONGEST_INLINE_DIMENSIONS:  # in the row, an exact scan reads it faster
        conn.execute(sql.SQL("ALTER TABLE chunks ALTER COLUMN {} SET STORAGE PLAIN").format(name))


def _read_info(
    conn: Connection, held: StoreCache
) -> tuple[
    TupleRow, list[TupleRow], dict[str, str], tuple[list[TupleRow], dict[str, SupersededCounts]]
]:
    # every change of a corpus's chunks writes its row of counts anew
    states: dict[str, str] = dict(conn.execute("SELECT corpus, xmin::text FROM corpora").fetchall())
    head = conn.execute("SELECT model, space, dimensions FROM collection").fetchone()
    rows = conn.execute("SELECT corpus, repo, chunks FROM repos WHERE chunks > 0").fetchall()
    # counted anew only when the versions of a corpus were found: many rows take long to count
    found = conn.execute("SELECT corpus, found_at FROM versioned_corpora ORDER BY 1").fetchall()
    known, superseded = held.superseded or (None, {})
    settled = {row[0] for row in found} if known == found else set()
    superseded = {c: n for c, n in superseded.items() if c in settled}
    superseded |= count_superseded(conn, sorted({row[0] for row in rows} - settled))
    held.superseded = (found, superseded)
    return head or (None, None, None), rows, states, held.superseded


def _exists(conn: Connection, schema: str) -> bool:
    row = conn.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    return row is not None


def _collections(conn: Connection) -> list[str]:
    rows = conn.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace"
        " WHERE starts_with(nspname, %s)",
        (PREFIX,),
    ).fetchall()
    return sorted(str(row[0]) for row in rows if row[0] is not None)


def _drop(conn: Connection, name: str) -> None:
    schema = schema_of(name)
    if not _exists(conn, schema):
        raise UnknownName(f"no collection {name!r}{suggest(name, _collections(conn))}")
    conn.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
