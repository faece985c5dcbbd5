"""Writes a collection as Parquet files: one snapshot, in bounded memory.

Rows are read from the partitions. A reader of the parent table would block an ingestion that
creates the partition of a new corpus, and every search would wait behind that.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.string import ByteaBinaryLoader

from operators.errors import CrosscorpusError
from operators.postgres.connection import TRANSACTION, connect, set_locally
from operators.postgres.errors import explained
from operators.postgres.exchange.columns import TABLES, table_schema, to_arrow
from operators.postgres.exchange.manifest import MANIFEST, Manifest
from operators.postgres.server_cursor import ROWS_AT_ONCE
from operators.postgres.store import Connection, Store

_PARTS = """
    SELECT coalesce(p.relname, c.relname), c.relname FROM pg_class c
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relkind = 'r' AND c.relnamespace = quote_ident(current_schema())::regnamespace
    ORDER BY c.relname COLLATE "C"
"""
_HEAD = """SELECT name, model, space, dimensions,
    ARRAY(SELECT name FROM migrations ORDER BY 1) AS migrations FROM collection"""


def export_collection(
    store: Store, folder: str | Path, progress: Callable[[str, int], None] = lambda *_: None
) -> Manifest:
    """Write the collection into ``folder``, which is new or empty; return the manifest.

    The files are one snapshot of the collection, even while an ingestion writes. They are written
    beside ``folder`` and moved to it when they are complete. Only the exporting user can read them.
    ``progress`` gets each table and its row count.

    Raises:
        CrosscorpusError: the folder is not empty, or the server fails.
        OSError: the folder cannot be written.
    """
    folder = Path(folder)
    try:
        with suppress(FileNotFoundError):
            folder.rmdir()
    except OSError as error:
        raise CrosscorpusError(f"{folder}: {error.strerror}; name a new or empty folder") from error
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        made = Path(temporary, folder.name)
        made.mkdir()
        made.chmod(0o700)
        rows = {}
        with _snapshot(store) as conn:
            head = conn.cursor(row_factory=dict_row).execute(_HEAD).fetchone() or {}
            parts = conn.execute(_PARTS).fetchall()
            for table in TABLES:
                partitions = [part for parent, part in parts if parent == table]
                path = _private(made / f"{table}.parquet")
                rows[table] = _write(conn, table, partitions, path)
                progress(table, rows[table])
        manifest = Manifest(**head, rows=rows)
        text = manifest.model_dump_json(indent=2) + "\n"
        _private(made / MANIFEST).write_text(text, encoding="utf-8")
        made.rename(folder)
    return manifest


def _private(path: Path) -> Path:
    """Create ``path`` as a file that only its owner can read, whatever the umask; return it."""
    path.touch()
    path.chmod(0o600)
    return path


@contextmanager
def _snapshot(store: Store) -> Iterator[Connection]:
    parts = [sql.Identifier(store.schema, part) for _, part in store.rows(_PARTS)]
    with explained(store.dsn), connect(store.dsn) as conn:
        conn.isolation_level, conn.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
        # Take the locks before the snapshot, so that no column changes in between.
        conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.SQL(",").join(parts)))
        set_locally(conn, {"search_path": store.search_path, **TRANSACTION})
        yield conn


def _write(conn: Connection, table: str, parts: Sequence[str], path: Path) -> int:
    schema, count = table_schema(conn, table), 0
    chosen = sql.SQL(", ").join(map(sql.Identifier, schema.names))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for part in parts:
            with conn.cursor(name="rows", binary=True) as cursor:
                cursor.adapters.register_loader("uuid", ByteaBinaryLoader)
                cursor.execute(sql.SQL("SELECT {} FROM {}").format(chosen, sql.Identifier(part)))
                while rows := cursor.fetchmany(ROWS_AT_ONCE):
                    values = list(map(to_arrow, zip(*rows, strict=True), schema.types))
                    writer.write_batch(pa.record_batch(values, schema=schema))
                    count += len(rows)
    return count
