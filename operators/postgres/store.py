"""A collection: one Postgres schema that holds a data set, its vector space and its ledger.

Every statement of this package runs inside :meth:`Store.transaction`. It puts the collection's
schema first in ``search_path``, for that transaction only. So settings survive a connection pooler,
and one server holds many collections.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import polars as pl
import psycopg
from psycopg import sql
from psycopg.abc import Params
from psycopg.rows import TupleRow

from operators.embedding.protocol import as_given
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.foundation.cancellation import waiting
from operators.postgres.connection import (
    TRANSACTION,
    Pool,
    check_nodes,
    connect,
    ensure_vector,
    has_extension,
    is_pooled,
    open_pool,
    resolve_dsn,
    retrying,
    set_locally,
)
from operators.postgres.errors import explained, is_node_away, target
from operators.postgres.schema.caller_views import SETTING, drop_views, make_views, views_schema
from operators.postgres.schema.migrate import schema_exists
from operators.postgres.schema.tables import bring_up_to_date, name_collection, shards_of
from operators.postgres.state_cache import VersionedCache
from operators.postgres.superseded_counts import count_superseded
from operators.postgres.undeleted_notes import Undeleted, read_undeleted

Connection: TypeAlias = psycopg.Connection[TupleRow]
Settings: TypeAlias = Mapping[str, str] | Callable[[], Mapping[str, str]]
T = TypeVar("T")

PREFIX = "crosscorpus_"
LONGEST_NAME = 63
LONGEST_INLINE_DIMENSIONS = 2048
INFO_SECONDS = 1.0
MOST_CALLERS = 64
"""Maximum number of class sets whose views a store caches."""
COUNTED = 10_000
"""A corpus's chunks without a vector are counted up to this number, because counting is slow."""

WAITS = "c.embedding IS NULL AND c.embedding_error IS NULL"
"""The clause for chunks ``c`` that are not embedded yet."""

_COLLECTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


class ModelMismatch(CrosscorpusError):
    """A collection holds vectors of another model than the given one."""


def _stoppable(conn: Connection) -> AbstractContextManager[None]:
    """A context whose statements are cancelled when the run is cancelled."""
    switch = waiting.get()
    return switch.stopping_by(conn.cancel_safe) if switch else nullcontext()


@dataclass(frozen=True)
class CollectionInfo:
    """The contents of a collection; before a model was set, the first three are None.

    ``unembedded`` counts the chunks without a vector, by corpus, each up to ``COUNTED`` + 1.
    ``superseded`` has the corpora whose topics have versions. ``versions_at`` is a stamp of the
    current state of all versions, None while it changes; ``states`` are those of each corpus.
    """

    model: str | None
    space: str | None  # fingerprint of the vector space
    dimensions: int | None
    corpora: dict[str, int]  # chunks of each corpus that has any
    repos: dict[str, dict[str, int]]  # chunks of each repo, by corpus
    unembedded: dict[str, int] = field(default_factory=dict)
    superseded: dict[str, int] = field(default_factory=dict)
    versions_at: tuple[TupleRow, ...] | None = None
    states: dict[str, str] = field(default_factory=dict)
    unfinished: Set[str] = frozenset()  # corpora of an unfinished ingestion
    # by corpus, documents that may be gone from their source but are still searchable
    undeleted: dict[str, list[Undeleted]] = field(default_factory=dict)
    background: float | None = None  # of its model, see operators.embedding.background

    @property
    def many_repos(self) -> bool:
        """Whether a path needs its repository: there are several, or a corpus has files of none."""
        named = {repo for of in self.repos.values() for repo in of if repo}
        return len(named) > 1 or any(len(of) > 1 for of in self.repos.values())


def with_many_repos(collections: Mapping[str, CollectionInfo | None] | None) -> set[str]:
    """The corpora whose labels name the repository, by what their collections hold."""
    return {corpus for corpus, info in (collections or {}).items() if info and info.many_repos}


@dataclass
class StoreCache:
    """The cached content of a collection, shared by the views of one store.

    ``info`` is stored with the time of its reading and the ``state`` of its store, ``superseded``
    with the state of all versions. The chunks that are ``pinned``, or ``visible`` under versions,
    are cached by corpus and versions.
    """

    info: tuple[float, str | None, CollectionInfo] | None = None
    superseded: tuple[list[TupleRow], dict[str, int]] | None = None
    versions: VersionedCache[pl.DataFrame] = field(default_factory=VersionedCache)
    pinned: VersionedCache[tuple[str, str]] = field(default_factory=VersionedCache)
    visible: VersionedCache[str] = field(default_factory=VersionedCache)
    callers: dict[tuple[int, ...], StoreCache] = field(default_factory=dict)


@dataclass
class Store(AbstractContextManager["Store"]):
    """An open collection. Close it, or use it in a ``with`` block."""

    pool: Pool
    dsn: str = field(repr=False)
    collection: str
    schema: str
    search_path: str
    space: str | None = None  # the vector space of its user; None: any
    clustered: bool = False  # the tables are in a Citus cluster
    replica: bool = False  # the server replicates a primary, and can lag behind it
    visible: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # see ``showing``
    access: tuple[int, ...] | None = None  # the classes that its caller sees; None: all
    state: str | None = None  # of all counts and versions at the caller's query
    cache: StoreCache = field(default_factory=StoreCache, repr=False)

    def showing(self, visible: Mapping[str, Mapping[str, Any]]) -> Store:
        """A view of this store for a caller who may see only a part of some corpora.

        Every function that shows the ledger or looks up a document by name applies it: nothing
        outside is returned, counted or named. A search uses the filters of its queries instead.

        Args:
            visible: a corpus's name -> its filters, as
                :func:`operators.postgres.search.filters.is_visible` takes them.
        """
        return replace(self, visible=visible)

    def seen_by(self, access: Sequence[int], state: str | None = None) -> Store:
        """A view of this store for a caller who may see only the documents of these classes.

        Every statement reads views instead of the tables
        (:mod:`operators.postgres.schema.caller_views`), and none can write to them. Cached content
        of another ``state`` is read again.
        """
        classes = tuple(sorted(access))
        kept = self.cache.callers
        if classes not in kept and len(kept) >= MOST_CALLERS:
            kept.pop(next(iter(kept)), None)
        views = views_schema(self.schema)
        path = ", ".join([f'"{views}"', *self.search_path.split(", ")[1:]])
        cache = kept.setdefault(classes, StoreCache())
        own: dict[str, Any] = {"access": classes, "cache": cache, "state": state}
        return replace(self, schema=views, search_path=path, **own)

    def embedding_in(self, space: str) -> Store:
        """A view of this store for vectors of ``space``.

        A search or a write through it raises ``ModelMismatch`` if the collection holds vectors of
        another space, even if it was dropped and made again while the view is open.
        """
        return replace(self, space=space)

    @contextmanager
    def transaction(
        self, settings: Settings | None = None, *, wait_s: float | None = None
    ) -> Iterator[Connection]:
        """One transaction with ``settings`` (server parameters) for its duration.

        ``wait_s`` limits the wait for a free connection. If ``settings`` is a function, it is
        called after that wait. A refused write replaces the pool's connections: after a failover
        the address leads to the new primary, but a connection stays with the old one.
        """
        try:
            with self._transaction(settings, wait_s) as conn:
                yield conn
        except psycopg.errors.ReadOnlySqlTransaction:
            if not self.replica:
                self.pool.drain()
            raise

    @contextmanager
    def _transaction(self, settings: Settings | None, wait_s: float | None) -> Iterator[Connection]:
        with self.pool.connection(timeout=wait_s) as conn, _stoppable(conn), conn.transaction():
            parameters = settings() if callable(settings) else settings or {}
            values = {"search_path": self.search_path, **TRANSACTION, **parameters}
            if self.access is not None:
                parameters = {**parameters, SETTING: "{" + ",".join(map(str, self.access)) + "}"}
                values |= parameters
            if self.clustered:
                # One connection a node: opening more takes longer than a search, and a statement
                # may then write after one that read every shard.
                values["citus.multi_shard_modify_mode"] = "sequential"
            set_locally(conn, values)
            if self.clustered and parameters:  # workers apply only settings made in this way
                local = {"citus.propagate_set_commands": "local", **parameters}
                each = [(name, sql.Literal(value).as_string(conn)) for name, value in local.items()]
                conn.execute("; ".join(f"SET LOCAL {name} = {value}" for name, value in each))
            yield conn

    def run(
        self,
        work: Callable[[Connection], T],
        settings: Settings | None = None,
        wait: Callable[[], float | None] = lambda: None,
    ) -> T:
        """Run ``work`` in one transaction, which is retried after a lost connection or a failover.

        ``wait`` returns the ``wait_s`` of each attempt.

        Raises:
            DatabaseError: the server's error, in one line.
        """

        def attempt() -> T:
            with self.transaction(settings, wait_s=wait()) as conn:
                return work(conn)

        with explained(self.dsn):
            try:
                return retrying(attempt)
            except psycopg.errors.ReadOnlySqlTransaction:
                if self.replica:
                    raise
            return retrying(attempt)  # with another connection

    def rows(self, statement: str, values: Params | None = None) -> list[TupleRow]:
        """All rows of one statement, run as :meth:`run` does."""
        return self.run(lambda conn: conn.execute(statement, values).fetchall())

    def row(self, statement: str, values: Params | None = None) -> TupleRow | None:
        """The first row of one statement, run as :meth:`run` does."""
        return self.run(lambda conn: conn.execute(statement, values).fetchone())

    def execute(self, statement: str, values: Params | None = None) -> None:
        """Run one statement that returns no rows, as :meth:`run` does."""
        self.run(lambda conn: conn.execute(statement, values))

    def forget_info(self) -> None:
        """Make the next :func:`collection_info` read the server again."""
        self.cache.info = None

    def close(self) -> None:
        """Close the pool's connections."""
        self.pool.close()

    def __exit__(self, *error: object) -> None:
        """Close the store."""
        self.close()


class Home(NamedTuple):
    """The home of a corpus of a configuration: the collection, and the corpus's name in it."""

    store: Store
    corpus: str


def by_store(homes: Mapping[str, Home]) -> list[tuple[Store, dict[str, str]]]:
    """Each collection once, with its corpora: its name for each mapped to the caller's."""
    stores: dict[str, tuple[Store, dict[str, str]]] = {}
    for name, home in homes.items():
        stores.setdefault(home.store.collection, (home.store, {}))[1][home.corpus] = name
    return list(stores.values())


def open_store(
    dsn: str | None = None,
    collection: str = "default",
    *,
    create: bool = False,
    max_size: int = 8,
    shards: int | None = None,
) -> Store:
    """Open ``collection`` on the server that ``dsn`` names (default: the user's own).

    ``create`` creates the collection if it is missing; ``max_size`` is the largest number of
    connections. A pooler such as pgbouncer may be in between. If the node of a cluster that holds
    the collection is down, the store opens, and reading it fails until the node is back. ``shards``
    spreads a new collection over the nodes of a cluster: each has a part of the chunks, all have
    the rest.

    Raises:
        UnknownName: there is no such collection; suggests the nearest one.
        CrosscorpusError: the name is invalid, pgvector is missing, or the server does not answer.
    """
    schema = schema_of(collection)
    dsn = dsn or resolve_dsn()
    with connect(dsn, autocommit=True) as conn, explained(dsn):
        pooler = is_pooled(conn)
        cursor = conn.execute("SELECT pg_is_in_recovery(), current_setting('search_path')")
        replica, path = cursor.fetchone() or (False, "")
        if not create and not schema_exists(conn, schema):
            known = _collections(conn)
            elsewhere = "CROSSCORPUS_HOME and CROSSCORPUS_DSN say where to look"
            none = f"; the server at {target(dsn)} has none: {elsewhere}"
            raise UnknownName(
                f"no collection {collection!r}{suggest(collection, known)}"
                f" ({'name one with -C, or ' if known else ''}"
                f"`crosscorpus ingest ... --collection {collection}` makes it"
                f"{', and this replica has it some time later' if replica else ''}"
                f"{'' if known or replica else none})"
            )
        extension = ensure_vector(conn)
        own = [sql.Identifier(name).as_string(conn) for name in (schema, extension.schema)]
        search_path = ", ".join([*own, *filter(None, [path])])
        clustered = has_extension(conn, "citus")
        try:
            if shards and not clustered:
                raise CrosscorpusError("this server is no Citus cluster: leave --shards out")
            if clustered and create and not schema_exists(conn, schema):
                check_nodes(conn)
            bring_up_to_date(conn, collection, schema, search_path, shards)
            if shards and (stored := shards_of(conn, schema)) != shards:
                raise CrosscorpusError(
                    f"collection {collection!r} has {stored} shards, a number that stays: read its"
                    " sources into a new collection"
                )
        except psycopg.Error as error:
            if create or not is_node_away(error):
                raise
    pool = open_pool(dsn, pooler=pooler, max_size=max_size)
    return Store(pool, dsn, collection, schema, search_path, clustered=clustered, replica=replica)


def collections(dsn: str | None = None) -> list[str]:
    """The names of the collections on a server, sorted."""
    dsn = dsn or resolve_dsn()
    with connect(dsn) as conn, explained(dsn):
        return _collections(conn)


def drop_collection(dsn: str | None, name: str) -> None:
    """Delete the collection ``name`` with all its content.

    It locks one table after the other, so that a question in between may deadlock with it: then it
    begins again.

    Raises:
        UnknownName: there is no such collection.
    """
    dsn, schema = dsn or resolve_dsn(), schema_of(name)

    def attempt() -> None:
        with connect(dsn) as conn:
            if not schema_exists(conn, schema):
                raise UnknownName(f"no collection {name!r}{suggest(name, _collections(conn))}")
            drop_views(conn, schema)
            conn.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))

    with explained(dsn):
        retrying(attempt)


def rename_collection(dsn: str | None, name: str, new: str) -> None:
    """Call the collection ``name`` ``new``; whoever has it open as ``name`` finds none any more.

    Raises:
        UnknownName: there is no such collection.
        CrosscorpusError: there is one of the new name, or that is no name of a collection.
    """
    dsn, old, schema = dsn or resolve_dsn(), schema_of(name), schema_of(new)
    with explained(dsn), connect(dsn) as conn:
        known = _collections(conn)
        if name not in known:
            raise UnknownName(f"no collection {name!r}{suggest(name, known)}")
        if schema_exists(conn, schema):
            raise CrosscorpusError(f"there is a collection {new!r} already")
        rename = sql.SQL("ALTER SCHEMA {} RENAME TO {}")
        conn.execute(rename.format(sql.Identifier(old), sql.Identifier(schema)))
        if schema_exists(conn, views_schema(old)):
            views = map(sql.Identifier, (views_schema(old), views_schema(schema)))
            conn.execute(rename.format(*views))
        name_collection(conn, schema, new)


def schema_of(collection: str) -> str:
    """The schema of ``collection``.

    >>> schema_of("default")
    'crosscorpus_default'

    Raises:
        CrosscorpusError: the name has over 200 characters, or others than letters, digits, ``_``,
            ``.`` and ``-``.
    """
    if not _COLLECTION_NAME.fullmatch(collection):
        raise CrosscorpusError(
            f"collection name {collection!r}: use 1 to 200 letters, digits, '_', '.' or '-'"
        )
    return identifier(PREFIX + collection)


def identifier(name: str) -> str:
    """``name`` if it is short enough for the server, else its beginning and a hash of all of it.

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
    """Set the vector space of the collection: once, before the first document is written.

    Raises:
        ModelMismatch: the collection already has another model; names both.
    """

    def work(conn: Connection) -> None:
        row = conn.execute("SELECT model, space, dimensions FROM collection FOR UPDATE").fetchone()
        stored = row or (None, None, None)
        if stored[1] is None:
            _add_vectors(conn, dimensions)
            if schema_exists(conn, views_schema(store.schema)):
                make_views(conn, store.schema)
            conn.execute(
                "UPDATE collection SET model = %s, space = %s, dimensions = %s",
                (model, space, dimensions),
            )
        elif (stored[1], stored[2]) != (space, dimensions):
            raise mismatch(store.collection, stored, (model, space, dimensions))

    store.run(work)
    store.forget_info()


def set_background(store: Store, background: float) -> None:
    """Set the similarity that the collection's model gives to unrelated texts."""
    store.run(lambda conn: conn.execute("UPDATE collection SET background = %s", (background,)))
    store.forget_info()


def versions_state(store: Store) -> tuple[Any, str | None] | None:
    """The stamp of the versions that a caller sees; rights change it. None while they change."""
    at = collection_info(store).versions_at
    return None if at is None else (at, store.state)


def collection_info(store: Store) -> CollectionInfo:
    """The contents of the collection; read at most once a second, or if the state differs."""
    cached = store.cache.info
    now = time.monotonic()
    if cached and now - cached[0] < INFO_SECONDS and cached[1] == store.state:
        return cached[2]
    info = store.run(lambda conn: _read_info(conn, store.cache))
    store.cache.info = (now, store.state, info)
    return info


def contents(
    homes: Mapping[str, Home], failed: Collection[str]
) -> dict[str, CollectionInfo | None]:
    """The contents of the collection of each corpus; None if it can't be read.

    A collection whose corpora all ``failed`` is not asked.
    """
    infos: dict[str, CollectionInfo | None] = {}
    for store, names in by_store(homes):
        info = None
        if not {*names.values()} <= {*failed}:
            with suppress(Exception):  # what its searches tell is enough
                info = collection_info(store)
        infos |= dict.fromkeys(names.values(), info)
    return infos


def check_space(store: Store, conn: Connection) -> None:
    """Raise ``ModelMismatch`` if ``store``'s space is no longer the collection's.

    The answer holds until the transaction of ``conn`` ends: a collection has one space from its
    first document to its end, and dropping it waits for those who have read one of its tables.
    """
    if store.space is not None:
        row = conn.execute("SELECT model, space FROM collection").fetchone()
        need_space(store, *row or (None, None))


def mismatch(collection: str, stored: Sequence[object], given: Sequence[object]) -> ModelMismatch:
    """The error for a collection that is given another model: each a name, space and dimensions.

    The names may be equal, because the name of a model directory does not include its settings.
    """
    way = f"set embedding: {as_given(str(stored[0]))} (when ingesting --model)"
    if stored[0] == given[0]:
        way = "weights, pooling, prefixes or window differ: take those it was made with"
    return ModelMismatch(
        f"collection {collection!r} holds vectors of model {stored[0]!r} ({stored[2]} dimensions, "
        f"space {stored[1]}) and was given {given[0]!r} ({given[2]} dimensions, space {given[1]}): "
        f"{way}, or ingest its sources into another collection (ingest ... -C NAME)"
    )


def need_space(store: Store, model: str | None, space: str | None) -> None:
    """Raise ``ModelMismatch`` if the collection, now of ``model``, is not of ``store``'s space."""
    if store.space is not None and space not in {None, store.space}:
        store.forget_info()
        raise ModelMismatch(
            f"collection {store.collection!r} holds vectors of model {model!r} (space {space}) and"
            f" was opened for space {store.space}: open it with embedding: {as_given(str(model))}"
        )


def _add_vectors(conn: Connection, dimensions: int) -> None:
    """Add the column of vectors to the chunks."""
    column = sql.SQL("ALTER TABLE chunks ADD COLUMN embedding halfvec({})")
    conn.execute(column.format(sql.Literal(int(dimensions))))
    # the queue of chunks without a vector: the first ones of all documents, of new ones first
    conn.execute(
        "CREATE INDEX ON chunks (ordinal, created_at DESC NULLS LAST, chunk_id)"
        " WHERE embedding IS NULL"
    )
    # an exact scan reads it faster inside the row; Citus does not support the statement
    if dimensions <= LONGEST_INLINE_DIMENSIONS and not has_extension(conn, "citus"):
        conn.execute("ALTER TABLE chunks ALTER COLUMN embedding SET STORAGE PLAIN")


def _read_info(conn: Connection, cache: StoreCache) -> CollectionInfo:
    # every change of a corpus's chunks updates its row of counts
    states: dict[str, str] = dict(conn.execute("SELECT corpus, xmin::text FROM corpora").fetchall())
    head = conn.execute("SELECT model, space, dimensions, background FROM collection").fetchone()
    repos: dict[str, dict[str, int]] = {}
    counted = conn.execute("SELECT corpus, repo, chunks FROM repos WHERE chunks > 0")
    for corpus, repo, chunks in sorted(counted):
        repos.setdefault(corpus, {})[repo] = chunks
    # counted again only after the versions of a corpus were detected: counting is slow
    detected = conn.execute("SELECT corpus, found_at FROM versioned_corpora ORDER BY 1").fetchall()
    known, superseded = cache.superseded or (None, {})
    settled = {row[0] for row in detected} if known == detected else set()
    superseded = {c: n for c, n in superseded.items() if c in settled}
    superseded |= count_superseded(conn, sorted(repos.keys() - settled))
    cache.superseded = (detected, superseded)
    corpora = {corpus: sum(of.values()) for corpus, of in repos.items()}
    at = tuple(detected) if superseded.keys() <= {row[0] for row in detected} else None
    model, space, dimensions, background = head or (None, None, None, None)
    unembedded: dict[str, int] = {}
    if dimensions is not None:
        some = f"SELECT 1 FROM chunks c WHERE corpus = %s AND {WAITS} LIMIT {COUNTED + 1}"
        for corpus in corpora:  # each with its own limit
            row = conn.execute(f"SELECT count(*) FROM ({some}) AS w", (corpus,)).fetchone()
            if row is not None and row[0]:
                unembedded[corpus] = row[0]
    begun = conn.execute(
        "SELECT DISTINCT unnest(corpora) FROM (SELECT DISTINCT ON (source) corpora, finished_at"
        " FROM runs ORDER BY source, run_id DESC) AS last WHERE finished_at IS NULL"
    )
    unfinished = frozenset(row[0] for row in begun)
    return CollectionInfo(
        *(model, space, dimensions, corpora, repos, unembedded, superseded, at, states),
        unfinished=unfinished,
        undeleted=read_undeleted(conn),
        background=background,
    )


def _collections(conn: Connection) -> list[str]:
    rows = conn.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace"
        " WHERE starts_with(nspname, %s)",
        (PREFIX,),
    ).fetchall()
    return sorted(str(row[0]) for row in rows if row[0] is not None)
