"""Writes a collection as Parquet files: one state of it, in bounded memory.

Rows are read from the partitions, not from their parent: a reader of the parent would keep an
ingestion from making a new corpus's partition, and every search would wait behind that.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql

from operators.errors import CrosscorpusError
from operators.postgres.connection import connect
from operators.postgres.errors import explained
from operators.postgres.exchange.columns import TABLES, table_columns, to_arrow
from operators.postgres.exchange.manifest import FORMAT, MANIFEST, Manifest
from operators.postgres.server_cursor import ROWS_AT_ONCE
from operators.postgres.store import Connection, Store

_PARTS = """
    SELECT coalesce(p.relname, c.relname), c.relname
    FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
    LEFT JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relkind = 'r' AND c.relnamespace = quote_ident(current_schema())::regnamespace
    ORDER BY c.relname COLLATE "C"
"""


def export_collection(
    store: Store, folder: str | Path, progress: Callable[[str, int], None] = lambda *_: None
) -> Manifest:
    """Write the collection into ``folder``, which is new or empty; return what it holds.

    The files are one state of the collection, also while an ingestion writes. They are made beside
    ``folder`` and get its name when they are complete. ``progress`` gets each table and its rows.

    Example: ``export_collection(open_store(collection="team"), "backup/team")``

    Raises:
        CrosscorpusError: the folder is not empty, or the server fails.
        OSError: the folder cannot be written.
    """
    folder = Path(folder)
    try:
        with suppress(FileNotFoundError):
            folder.rmdir()
    except OSError as error:
        raise CrosscorpusError(
            f"cannot export to {folder} ({error.strerror}): name a new or an empty folder"
        ) from error
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        made = Path(temporary, folder.name)
        made.mkdir()
        with _snapshot(store) as conn:
            manifest = _write_all(conn, store.collection, made, progress)
        (made / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        made.rename(folder)
    return manifest


@contextmanager
def _snapshot(store: Store) -> Iterator[Connection]:
    parts = [sql.Identifier(store.schema, part) for _, part in store.rows(_PARTS)]
    with explained(store.dsn), connect(store.dsn) as conn:
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        conn.read_only = True
        # The locks come before the snapshot: no column changes between the two.
        conn.execute(
            sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.SQL(", ").join(parts))
        )
        conn.execute(
            "SELECT set_config('search_path', %s, true), set_config('TimeZone', 'UTC', true)",
            (store.search_path,),
        )
        yield conn


def _write_all(
    conn: Connection, name: str, folder: Path, progress: Callable[[str, int], None]
) -> Manifest:
    head = conn.execute("SELECT model, space, dimensions FROM collection").fetchone()
    model, space, dimensions = head or (None, None, None)
    migrations = [row[0] for row in conn.execute("SELECT name FROM migrations ORDER BY 1")]
    parts = conn.execute(_PARTS).fetchall()
    rows = {}
    for table in TABLES:
        of_table = [part for parent, part in parts if parent == table]
        rows[table] = _write_table(conn, table, of_table, folder / f"{table}.parquet")
        progress(table, rows[table])
    return Manifest(
        format=FORMAT,
        name=name,
        model=model,
        space=space,
        dimensions=dimensions,
        migrations=migrations,
        rows=rows,
    )


def _write_table(conn: Connection, table: str, parts: Sequence[str], path: Path) -> int:
    columns = table_columns(conn, table)
    schema = pa.schema([(column.name, column.type) for column in columns])
    chosen = sql.SQL(", ").join(column.selected for column in columns)
    count = 0
    options = {"compression": "zstd", "write_page_checksum": True}
    with pq.ParquetWriter(path, schema, **options) as writer:
        for part in parts:
            with conn.cursor(name="rows", binary=True) as cursor:
                cursor.execute(sql.SQL("SELECT {} FROM {}").format(chosen, sql.Identifier(part)))
                while rows := cursor.fetchmany(ROWS_AT_ONCE):
                    values = map(to_arrow, columns, zip(*rows, strict=True))
                    writer.write_batch(pa.record_batch(list(values), schema=schema))
                    count += len(rows)
    return count
