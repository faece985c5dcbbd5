"""Rewrites a partition, as VACUUM FULL does, but without locking out its readers.

The rows are copied into a new table, which gets the indexes and then replaces the partition.
Writers wait for the whole rewrite, queries only for the replacement.
"""

import time
from functools import partial

import psycopg
from psycopg import sql

from operators.postgres.connection import has_extension
from operators.postgres.schema.partitions import SEPARATOR, exists, lock_writers, partition
from operators.postgres.store import Connection, Store

LOCK_SECONDS = 0.5
"""How long new queries may wait for this lock, while it waits for running queries to end."""
TRIES = 60

_PLAIN = "relispartition AND relkind = 'r' AND relacl IS NULL AND NOT relrowsecurity"
_COLUMNS = """
    SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
      AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
_OPTIONS = """
    SELECT option_name, option_value
    FROM pg_class c, pg_options_to_table(c.reloptions) WHERE c.oid = %s::regclass
"""
_INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid), pg_get_constraintdef(k.oid),
        format('CREATE INDEX %%I ON %%I.%%I USING ', c.relname, current_schema(), t.relname)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
    LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.conrelid = i.indrelid
    WHERE i.indrelid = %s::regclass ORDER BY c.relname
"""


def rewrite_partition(store: Store, table: str, corpus: str) -> bool:
    """Rewrite the partition of ``table`` that holds ``corpus``, without its deleted rows.

    Returns:
        False: nothing was done, because the tables are in a cluster, or the partition has rights,
        policies or indexes that a new one would lack.
    """
    memory = {"maintenance_work_mem": "512MB"}
    return store.run(partial(_rewrite, table=table, corpus=corpus), memory)


def _rewrite(conn: Connection, table: str, corpus: str) -> bool:
    name, new = partition(table, corpus), f"new{SEPARATOR}{table}"
    if has_extension(conn, "citus") or not exists(conn, name, _PLAIN):
        return False
    lock_writers(conn, [corpus], alone=True)
    conn.execute(sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(sql.Identifier(table)))
    of = (sql.Identifier(name).as_string(conn),)
    indexes = conn.execute(_INDEXES, of).fetchall()
    if any(made is None and not text.startswith(head) for _, text, made, head in indexes):
        return False
    _copy(conn, name, new, corpus)
    for number, (_, text, constraint, head) in enumerate(indexes):
        named, on = sql.Identifier(f"{new}_{number}"), sql.Identifier(new)
        if constraint is not None:
            made = sql.SQL("ALTER TABLE {on} ADD CONSTRAINT {named} " + constraint)
        else:
            made = sql.SQL("CREATE INDEX {named} ON {on} USING {what}")
        what = sql.SQL(text.removeprefix(head))
        conn.execute(made.format(named=named, on=on, what=what))
    _lock_readers_out(conn, table)
    parent, old, fresh = map(sql.Identifier, (table, name, new))
    conn.execute(sql.SQL("ALTER TABLE {} DETACH PARTITION {}").format(parent, old))
    conn.execute(sql.SQL("DROP TABLE {}").format(old))
    conn.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(fresh, old))
    for number, (index, *_) in enumerate(indexes):
        named = sql.Identifier(f"{new}_{number}")
        conn.execute(sql.SQL("ALTER INDEX {} RENAME TO {}").format(named, sql.Identifier(index)))
    attach = sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES IN ({})")
    conn.execute(attach.format(parent, old, sql.Literal(corpus)))
    conn.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT {}").format(old, fresh))
    return True


def _copy(conn: Connection, name: str, new: str, corpus: str) -> None:
    """Create the table ``new`` with the columns and rows of ``name``, without indexes."""
    of = (sql.Identifier(name).as_string(conn),)
    fresh, old = sql.Identifier(new), sql.Identifier(name)
    options = [
        sql.SQL("{} = {}").format(sql.Identifier(option), sql.Literal(value))
        for option, value in conn.execute(_OPTIONS, of).fetchall()
    ]
    clause = sql.SQL("WITH ({})").format(sql.SQL(", ").join(options)) if options else sql.SQL("")
    conn.execute(
        sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING INDEXES) {}").format(
            fresh, old, clause
        )
    )
    # With this constraint, ATTACH need not read the rows to check them.
    check = sql.SQL("ALTER TABLE {} ADD CONSTRAINT {} CHECK (corpus = {})")
    conn.execute(check.format(fresh, fresh, sql.Literal(corpus)))
    columns = [sql.Identifier(str(column)) for (column,) in conn.execute(_COLUMNS, of).fetchall()]
    listed = sql.SQL(", ").join(columns)
    insert = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}")
    conn.execute(insert.format(fresh, listed, listed, old))


def _lock_readers_out(conn: Connection, table: str) -> None:
    """Lock ``table`` when no long search runs; finally, wait for one."""
    locked = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(table))
    for attempt in range(TRIES):
        try:
            with conn.transaction():
                conn.execute(f"SET LOCAL lock_timeout = {int(LOCK_SECONDS * 1000)}")
                conn.execute(locked)
                return
        except psycopg.errors.LockNotAvailable:
            time.sleep(min(1.0, 0.05 * (attempt + 1)))
    conn.execute(locked)
