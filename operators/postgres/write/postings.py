"""The text index: a posting for each chunk, and the counts derived from the postings."""

from collections.abc import Mapping, Sequence

import polars as pl

from operators.postgres.row_writer import copy_rows
from operators.postgres.store import Connection
from operators.postgres.write.term_statistics import Deltas, apply_deltas
from operators.ranking import bm25

REBUILT_AT_ONCE = 2_000
"""Maximum number of chunks whose texts and terms are in memory."""

_FILTERED = {  # the columns of a chunk that a posting repeats, for searches to filter by
    "corpus": "text",
    "chunk_id": "int8",
    "repo": "text",
    "path": "text",
    "language": "text",
    "item_state": "text",
    "created_at": "timestamptz",
    "access": "int8",
}
_POSTING = _FILTERED | {"length": "int4", "terms": "int4[]", "counts": "int4[]", "bm25": "bytea"}
_READ = tuple(dict.fromkeys((*_FILTERED, *bm25.ANALYSED)))


def count_terms(chunks: pl.DataFrame) -> list[bm25.TermCounts]:
    """The terms of each chunk, from its columns ``bm25.ANALYSED``."""
    return [
        bm25.term_counts(bm25.analysed_text(*row))
        for row in chunks.select(bm25.ANALYSED).iter_rows()
    ]


def write_postings(
    conn: Connection,
    chunks: pl.DataFrame,
    counts: Sequence[bm25.TermCounts],
    deltas: Mapping[str, Deltas],
) -> None:
    """Add chunks to the text index and to ``deltas``, which the caller applies.

    ``chunks`` has the columns that searches filter by, ``counts`` the terms of each chunk.
    """
    rows = []
    for row, counted in zip(chunks.select(list(_FILTERED)).iter_rows(), counts, strict=True):
        corpus, _, repo = row[:3]
        keys, numbers = bm25.index_keys(counted), counted.counts.tolist()
        rows.append((*row, counted.length, keys, numbers, bm25.weights_bytes(counted)))
        deltas[corpus].count(repo, counted.length, keys, 1, row[-1])
    copy_rows(conn, "postings", _POSTING, rows)


def rebuild_postings(conn: Connection, corpus: str) -> None:
    """Rebuild a corpus's text index from its chunks; nobody may write to the corpus meanwhile."""
    for table in ("postings", "terms", "access_terms", "access_repos"):
        conn.execute(f"DELETE FROM {table} WHERE corpus = %s", (corpus,))
    conn.execute("UPDATE repos SET chunks = 0 WHERE corpus = %s", (corpus,))
    conn.execute(
        "INSERT INTO corpora (corpus, chunks, total_length) VALUES (%s, 0, 0)"
        " ON CONFLICT (corpus) DO UPDATE SET chunks = 0, total_length = 0",
        (corpus,),
    )
    deltas = {corpus: Deltas()}
    with conn.cursor(name="chunks") as cursor:
        cursor.execute(
            f"SELECT {', '.join(_READ)} FROM chunks WHERE corpus = %s ORDER BY chunk_id", (corpus,)
        )
        while rows := cursor.fetchmany(REBUILT_AT_ONCE):
            columns = dict(zip(_READ, map(list, zip(*rows, strict=True)), strict=True))
            chunks = pl.DataFrame(columns, strict=False)
            write_postings(conn, chunks, count_terms(chunks), deltas)
    apply_deltas(conn, deltas)
