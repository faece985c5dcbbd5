"""Makes a collection from an export, whole or not at all; indexes are built last.

It grows in a schema that is no collection's, and gets the collection's name at the end: a killed
import leaves no collection, and the next one, of whatever name, removes what it left.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from operators.errors import CrosscorpusError
from operators.postgres.connection import connect, resolve_dsn
from operators.postgres.errors import explained
from operators.postgres.exchange.columns import TABLES, copied_as, from_arrow, table_schema
from operators.postgres.exchange.manifest import Manifest, newer, read_manifest
from operators.postgres.row_writer import copy_rows
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.schema.partitions import ensure_partitions
from operators.postgres.server_cursor import ROWS_AT_ONCE
from operators.postgres.store import (
    PREFIX,
    Connection,
    Store,
    identifier,
    open_store,
    schema_of,
    set_model,
)


def import_collection(
    folder: str | Path,
    dsn: str | None = None,
    *,
    name: str | None = None,
    shards: int | None = None,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> str:
    """Make a collection from ``folder`` on the server ``dsn`` (default: your own); return its name.

    ``name``: default is the exported name. ``shards``: see
    :func:`operators.postgres.store.open_store`. ``progress`` gets each table and its rows.

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
        except BaseException:
            _drop(dsn, half)
            raise
    return name


def _claim(conn: Connection, name: str, schema: str, half: str) -> list[str]:
    """What killed imports left; the name is held until the transaction ends.

    Of several imports under one name, one gets it. No timeout of the server ends the transaction.
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
    ours = {row[0] for row in store.rows("SELECT name FROM migrations")}
    if unknown := ({*export.migrations} - ours) | (export.rows.keys() - {*TABLES}):
        raise newer(folder, ", ".join(sorted(unknown)))
    older = ours != {*export.migrations}
    if export.model and export.space and export.dimensions:
        set_model(store, export.model, export.space, export.dimensions)

    def copy(conn: Connection) -> None:
        for table in (name for name in TABLES if name in export.rows or not older):
            count = export.rows.get(table, 0)
            _copy(conn, table, folder / f"{table}.parquet", count, older)
            if table == "corpora":
                ensure_partitions(store, [c for (c,) in conn.execute("SELECT corpus FROM corpora")])
            progress(table, count)
        last = conn.execute("SELECT max(run_id) FROM runs").fetchone()
        conn.execute("SELECT setval(pg_get_serial_sequence('runs', 'run_id'), %s)", last)

    store.run(copy)


def _copy(conn: Connection, table: str, path: Path, count: int, older: bool) -> None:
    """Copy a file into its table; a column that an ``older`` one lacks gets its default."""
    options = {"page_checksum_verification": True, "pre_buffer": False}  # a buffer holds the file
    try:
        with pq.ParquetFile(path, **options) as file:
            held = {field.name: field.type for field in file.schema_arrow}
            fields = [f for f in table_schema(conn, table) if f.name in held or not older]
            needed = {field.name: field.type for field in fields}
            for name in held | needed:
                if held.get(name) != needed.get(name):
                    raise ValueError(f"{name} is {held.get(name)} instead of {needed.get(name)}")
            if file.metadata.num_rows != count:
                raise ValueError(f"{file.metadata.num_rows} rows instead of {count}")
            pieces = (map(batch.column, needed) for batch in file.iter_batches(ROWS_AT_ONCE))
            rows = (row for piece in pieces for row in zip(*map(from_arrow, piece), strict=True))
            copy_rows(conn, table, copied_as(fields), rows)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        why = " ".join(str(error).split())
        raise CrosscorpusError(f"{path} is damaged ({why}): export the collection again") from error
