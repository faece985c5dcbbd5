"""The words that Postgres's own text search reads (``text_search: plain``), and their index.

This search is rarely used, so there is no column for it, and an index only if the configuration of
an ingestion sets it. Without the index a search parses each visible chunk.
"""

from collections.abc import Iterable

from psycopg import sql

from operators.postgres.schema.indexes import build_index
from operators.postgres.schema.partitions import index_name, partition
from operators.postgres.store import Store


def words_of(alias: str) -> str:
    """An SQL expression for the words (``tsvector``) of a chunk, a row of ``alias``."""
    # A tsvector holds at most 1 MB: only the beginning of a longer text is indexed.
    text = f"coalesce({alias}.title, '') || ' ' || {alias}.text"
    return f"to_tsvector('english', left({text}, 100000))"


def index_plain_text(store: Store, corpora: Iterable[str]) -> None:
    """Build the missing index on the words of each of ``corpora`` that the collection has."""
    rows = store.rows("SELECT corpus FROM corpora")
    for corpus in sorted(set(corpora) & {row[0] for row in rows}):
        table = partition("chunks", corpus)
        words = words_of(sql.Identifier(table).as_string())
        build_index(store, index_name("chunks", corpus, "words"), table, f"USING gin (({words}))")
