"""Creates a collection from an export, completely or not at all; indexes are built last.

An export may come from someone else. So every value is validated while it is read
(:mod:`.check_rows`), and references when all rows are copied; nothing that an
export names is loaded, opened or run.

The rows are copied into a temporary schema, which is renamed at the end: an interrupted import
leaves no collection, and the next import, under any name, drops the temporary schema.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from operators.arrays.parquet_batches import read_batches
from operators.errors import CrosscorpusError
from operators.foundation.escape import label_text
from operators.postgres.connection import connect, resolve_dsn
from operators.postgres.errors import explained
from operators.postgres.exchange.check_rows import check_rows, unreferenced
from operators.postgres.exchange.columns import (
    GONE,
    LEFT_BEHIND,
    TABLES,
    copied_as,
    from_arrow,
    table_schema,
)
from operators.postgres.exchange.manifest import (
    LONGEST_REASON,
    Manifest,
    check_regular,
    newer,
    read_manifest,
)
from operators.postgres.inspect.verify import verify
from operators.postgres.inspect.verify_text import TEXT_INDEX
from operators.postgres.row_writer import copy_rows
from operators.postgres.schema.caller_views import make_views
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.schema.migrate import predates
from operators.postgres.schema.partitions import ensure_partitions
from operators.postgres.store import (
    PREFIX,
    Connection,
    Store,
    identifier,
    open_store,
    schema_of,
    set_model,
)
from operators.postgres.write.postings import rebuild_postings

LONGEST_ROW = 4 * 1024 * 1024
"""Maximum bytes of a row. Ingestion writes far shorter ones."""

LONGEST_ITEM = 64 * 1024 * 1024
"""Maximum bytes of a row with ``data``, a live source's record of one item."""

_DAMAGES: tuple[type[Exception], ...] = (
    *(pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError),
    *(psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProtocolViolation),
    psycopg.errors.InternalError_,
)
"""The exceptions that an invalid file raises; a refusal of a worker of Citus is the last one."""


def import_collection(
    folder: str | Path,
    dsn: str | None = None,
    *,
    name: str | None = None,
    shards: int | None = None,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> str:
    """Create a collection from ``folder`` on the server ``dsn`` (default: yours); return its name.

    ``name``: default is the exported name. ``shards``: see
    :func:`operators.postgres.store.open_store`. ``progress`` gets each table and its row count.

    Raises:
        CrosscorpusError: the collection exists, or the export is incomplete, damaged, of a newer
            version or refused by the server; nothing is left of it.
    """
    folder = Path(folder)
    export = read_manifest(folder)
    dsn, name = dsn or resolve_dsn(), name or export.name
    schema = schema_of(name)
    half = identifier(f"import_{schema}")
    rename = sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(*map(sql.Identifier, (half, schema)))
    with connect(dsn) as conn:
        for left in _claim(conn, name, schema, half):
            _drop(dsn, left)
        try:
            with open_store(
                dsn, name, create=True, max_size=2, schema=half, shards=shards
            ) as store:
                _fill(store, folder, export, progress)
                make_searchable(store)
                store.run(lambda conn: conn.execute(rename))
                if export.rows.get("access_classes") or export.rows.get("rights"):
                    store.run(lambda conn: make_views(conn, schema))
        except BaseException:
            _drop(dsn, half)
            raise
    return name


def _claim(conn: Connection, name: str, schema: str, half: str) -> list[str]:
    """The schemas that interrupted imports left; the name is locked until the transaction ends.

    Of concurrent imports under one name, one gets the lock. The idle timeout is disabled for it.
    """
    conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    free = conn.execute(
        "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
        " AND NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)",
        (half, schema),
    ).fetchone()
    if free != (True,):
        raise CrosscorpusError(
            f"collection {name!r} exists, or is being imported: import under another name (--as), "
            f"or drop it first (crosscorpus collections drop {name})"
        )
    left = conn.execute(
        "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
        " AND pg_try_advisory_xact_lock(hashtextextended(nspname, 0))",
        (f"import_{PREFIX}",),
    ).fetchall()
    return [schema for (schema,) in left]


def _drop(dsn: str, schema: str) -> None:
    with explained(dsn), connect(dsn) as conn:
        conn.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def _fill(
    store: Store, folder: Path, export: Manifest, progress: Callable[[str, int], None]
) -> None:
    if old := sorted(filter(predates, export.migrations)):
        raise CrosscorpusError(
            f"{folder} was made by an older version ({old[0]}): ingest the sources again"
        )
    ours = {row[0] for row in store.rows("SELECT name FROM migrations")}
    if unknown := ({*export.migrations} - ours) | (export.rows.keys() - {*TABLES, *GONE}):
        raise newer(folder, ", ".join(sorted(unknown)))
    older = ours != {*export.migrations}
    if export.model and export.space and export.dimensions:
        set_model(store, export.model, export.space, export.dimensions)

    def copy(conn: Connection) -> None:
        for table in (name for name in TABLES if name in export.rows or not older):
            _copy(conn, table, folder / f"{table}.parquet", export, older)
            if table == "corpora":
                ensure_partitions(store, [c for (c,) in conn.execute("SELECT corpus FROM corpora")])
            progress(table, export.rows.get(table, 0))
        if older:  # its documents may lack the names that versions are detected by
            conn.execute("UPDATE versioned_corpora SET rules = -1")
        last = conn.execute("SELECT max(run_id) FROM runs").fetchone()
        conn.execute("SELECT setval(pg_get_serial_sequence('runs', 'run_id'), %s)", last)

    store.run(copy)
    _check_whole(store, folder, older=older)


def _copy(conn: Connection, table: str, path: Path, export: Manifest, older: bool) -> None:
    """Copy a file into its table.

    Columns that an ``older`` file lacks get their defaults; those that only it has are ignored.
    """
    try:
        check_regular(path)
        rows = pq.read_metadata(path).num_rows
        given = {field.name: field.type for field in pq.read_schema(path)}
        fields = [f for f in table_schema(conn, table) if f.name in given or not older]
        needed = {field.name: field.type for field in fields}
        for name in given | needed:
            if name not in given:
                raise ValueError(f"it has no column {name}")
            if name not in needed:
                if older:
                    continue
                raise ValueError(f"the collection has no column {name}")
            if given[name] != needed[name]:
                raise ValueError(f"{name} is {given[name]} instead of {needed[name]}")
        if rows != (count := export.rows.get(table, 0)):
            raise ValueError(f"{rows} rows instead of {count}")
        copy_rows(conn, table, copied_as(fields), _checked(table, path, fields, export))
    except FileNotFoundError as error:
        raise CrosscorpusError(f"{path} does not exist: export the collection again") from error
    except _DAMAGES as error:
        internal = isinstance(error, psycopg.errors.InternalError_)
        if internal and " violates " not in str(error):
            raise
        why = label_text(" ".join(str(error).split()))[:LONGEST_REASON]
        raise CrosscorpusError(f"{path} is damaged ({why}): export the collection again") from error


def _checked(
    table: str, path: Path, fields: Sequence[pa.Field], export: Manifest
) -> Iterator[tuple[Any, ...]]:
    for columns in read_rows(path, [field.name for field in fields]):
        check_rows(table, columns, export)
        for name in LEFT_BEHIND.get(table, ()):
            columns |= {name: [None] * len(columns[name])} if name in columns else {}
        yield from zip(*columns.values(), strict=True)


def read_rows(path: Path, names: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
    """Batches of rows, as columns of values that ``copy_rows`` takes.

    Raises:
        ValueError: a row is longer than any that ingestion writes, a vector is not finite, or as
            :func:`read_batches`.
        ArrowException: the file is damaged.
    """
    most = LONGEST_ITEM if "data" in names else LONGEST_ROW
    for batch, sizes, _ in read_batches(path, names):
        if (longest := sizes.max(initial=0)) > most:
            raise ValueError(f"a row has {longest:,} bytes, at most {most:,} are taken")
        yield {name: from_arrow(batch.column(name)) for name in names}


def _check_whole(store: Store, folder: Path, *, older: bool) -> None:
    """Raise an error if the tables are inconsistent.

    The text index of an ``older`` export is rebuilt if it differs, because the tokenizer has
    changed since. Missing indexes are no error, because they are built last.
    """
    if lost := store.run(unreferenced):
        table, count = lost
        path = folder / f"{table}.parquet"
        raise CrosscorpusError(f"{path} is damaged ({count} rows of nothing): export again")
    faults = verify(store).filter(pl.col("kind") != "unfinished")
    if older and (faults["kind"] == TEXT_INDEX).all():
        for corpus in faults["corpus"].unique():
            store.run(partial(rebuild_postings, corpus=corpus))
    elif faults.height:
        first = faults.row(0, named=True)
        where = " ".join(filter(None, (first["corpus"], first["repo"], first["document_id"])))
        more = f", and {faults.height - 1} more" if faults.height > 1 else ""
        why = label_text(f"{first['kind']} in {where}: {first['says']}")[:LONGEST_REASON]
        raise CrosscorpusError(
            f"{folder} is damaged ({why}{more}): repair the collection that it is of"
            " (crosscorpus verify --repair), and export it again"
        )
