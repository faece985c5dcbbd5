"""The work after a load: indexes and statistics.

Indexes are built after the rows are loaded, which is many times faster than one entry at a time.
Each function can run again; it does only what is missing.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import psycopg
from psycopg import sql

from operators.postgres.connection import retrying
from operators.postgres.errors import explained
from operators.postgres.schema.partitions import (
    ensure_partitions,
    exists,
    index_name,
    lock,
    partition,
)
from operators.postgres.store import Store, collection_info

EXACT_SCAN_MAX_ROWS = 10_000
"""Up to this many rows, vectors are scanned exactly and have no index: an index scan takes a few
milliseconds, an exact one takes a microsecond or more a row."""

HNSW_M = 16
HNSW_EF_CONSTRUCTION = 100

_COUNTED = (
    *("documents", "terms", "repos", "corpora"),
    *("access_terms", "access_repos", "document_sketches"),
)
"""Tables whose rows every change of a document updates. The server counts their dead rows itself,
but loses the count when it is killed."""

_STATISTICS_STAY = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_stat_all_tables s ON s.relid = c.oid
    WHERE n.nspname = %s AND c.relname = ANY(%s) AND c.relpages > 1000
      AND coalesce(s.last_analyze, s.last_autoanalyze) IS NOT NULL
      AND s.n_mod_since_analyze < c.reltuples / 20
"""
"""Tables over 8 MB where less than a twentieth of the rows changed since the last ANALYZE, which
takes half a second per table. A server that was killed has lost the time of the last one."""

_SMALLEST_MEMORY_MB = 512
_LARGEST_MEMORY_MB = 4_096


def make_searchable(store: Store, corpora: Iterable[str] | None = None) -> None:
    """Make ``corpora`` (default: all) fast to search, after documents were written to them.

    A corpus whose chunks are not all embedded gets its vector index once they are.
    """
    sizes: dict[str, int] = dict(store.rows("SELECT corpus, chunks FROM corpora"))
    wanted = sorted(sizes if corpora is None else set(corpora) & set(sizes))
    waiting = collection_info(store).unembedded
    ensure_partitions(store, wanted)  # a corpus whose documents all failed has none yet
    for corpus in wanted:
        build_index(store, terms_index(corpus), partition("postings", corpus), "USING gin (terms)")
        if sizes[corpus] > EXACT_SCAN_MAX_ROWS and corpus not in waiting:
            build_vector_index(store, corpus, rows=sizes[corpus])
        vacuum(store, [partition(table, corpus) for table in ("chunks", "postings")])
    vacuum(store, _COUNTED)
    store.forget_info()


def pending_corpora(store: Store) -> list[str]:
    """The corpora that lack an index, for example after an interrupted load.

    `make_searchable` builds it.
    """
    rows = store.rows("SELECT corpus, chunks FROM corpora ORDER BY corpus")
    named = store.rows("SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()")
    indexes = {str(row[0]) for row in named}
    corpora = []
    waiting = collection_info(store).unembedded
    for corpus, chunks in rows:
        needed = {terms_index(corpus)}
        if chunks > EXACT_SCAN_MAX_ROWS and corpus not in waiting:
            needed.add(vector_index(corpus))
        if not needed <= indexes:
            corpora.append(str(corpus))
    return corpora


def vector_index(corpus: str) -> str:
    """The name of a corpus's vector index."""
    return index_name("chunks", corpus, "hnsw")


def terms_index(corpus: str) -> str:
    """The name of the index on the terms of a corpus's postings."""
    return index_name("postings", corpus, "terms")


def build_vector_index(store: Store, corpus: str, *, rows: int) -> None:
    """Build the index on the vectors of a corpus's chunks, if missing."""
    definition = (
        "USING hnsw (embedding halfvec_cosine_ops)"
        f" WITH (m = {HNSW_M}, ef_construction = {HNSW_EF_CONSTRUCTION})"
    )
    table = partition("chunks", corpus)
    build_index(store, vector_index(corpus), table, definition, rows=rows)


def build_index(store: Store, name: str, table: str, definition: str, *, rows: int = 0) -> None:
    """Build the index ``name`` on ``table``, if missing; ``definition`` is SQL, from ``USING``.

    ``rows`` is the number of vectors: it decides how much memory the build gets.
    """
    if store.run(lambda conn: exists(conn, name)):
        return
    statement = sql.SQL("CREATE INDEX {} ON {} {}").format(
        sql.Identifier(name), sql.Identifier(table), sql.SQL(definition)
    )
    # With about 1.5 KB a row the graph is built in memory; with less it is built on disk.
    megabytes = min(max(_SMALLEST_MEMORY_MB, rows * 3 // 2048), _LARGEST_MEMORY_MB)
    memory = {"maintenance_work_mem": f"{megabytes}MB"}

    def build(settings: dict[str, str]) -> None:
        with store.transaction(settings) as conn:
            # Two concurrent builds don't wait for each other's table lock, and IF NOT EXISTS sees
            # only committed indexes.
            lock(conn, f"index/{name}")
            if not exists(conn, name):
                conn.execute(statement)

    with explained(store.dsn):
        try:
            retrying(partial(build, memory))
        except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
            # Parallel workers need shared memory, and a container may have too little: use none.
            retrying(partial(build, {**memory, "max_parallel_maintenance_workers": "0"}))


def vacuum(store: Store, tables: Sequence[str]) -> None:
    """Remove the deleted rows of ``tables`` and update the server's statistics on them.

    A large table's statistics stay while few of its rows have changed (``_STATISTICS_STAY``).
    """
    stay = {str(name) for (name,) in store.rows(_STATISTICS_STAY, (store.schema, list(tables)))}
    with explained(store.dsn), store.pool.connection() as conn:
        conn.autocommit = True
        try:
            for table in tables:
                name = sql.Identifier(store.schema, table)
                command = sql.SQL("VACUUM" if table in stay else "VACUUM (ANALYZE)")
                conn.execute(sql.SQL("{} {}").format(command, name))
        finally:
            conn.autocommit = False
