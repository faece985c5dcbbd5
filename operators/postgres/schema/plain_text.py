"""The words that Postgres's own text search reads (``text_search: plain``), and their index.

This search is rarely used, so there is no column for it, and an index only if the configuration of
an ingestion sets it. Without the index a search parses each visible chunk. A collection from before
version 0.2 has the words in an indexed column, which searches then read.
"""

from collections.abc import Iterable
from functools import partial

from psycopg import sql

from operators.postgres.schema.indexes import build_index
from operators.postgres.schema.partitions import index_name, partition
from operators.postgres.store import Connection, Store

_COLUMN = "search_tsv"


def words_of(conn: Connection, alias: str) -> str:
    """An SQL expression for the words (``tsvector``) of a chunk, a row of ``alias``."""
    column = conn.execute(
        "SELECT 1 FROM pg_attribute WHERE attrelid = 'chunks'::regclass AND attname = %s"
        " AND NOT attisdropped",
        (_COLUMN,),
    ).fetchone()
    if column:
        return f"{alias}.{_COLUMN}"
    # A tsvector holds at most 1 MB: only the beginning of a longer text is indexed.
    text = f"coalesce({alias}.title, '') || ' ' || {alias}.text"
    return f"to_tsvector('english', left({text}, 100000))"


def index_plain_text(store: Store, corpora: Iterable[str]) -> None:
    """Build the missing index on the words of each of ``corpora`` that the collection has."""
    held = store.rows("SELECT corpus FROM corpora")
    for corpus in sorted(set(corpora) & {row[0] for row in held}):
        table = partition("chunks", corpus)
        alias = sql.Identifier(table).as_string()
        words = store.run(partial(words_of, alias=alias))
        build_index(store, index_name("chunks", corpus, _COLUMN), table, f"USING gin (({words}))")
