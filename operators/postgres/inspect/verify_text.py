"""Compares a corpus's text index, its postings and counts, with its chunks."""

from typing import Any

from operators.postgres.server_cursor import ROWS_AT_ONCE
from operators.postgres.store import Connection
from operators.ranking import bm25

TEXT_INDEX = "text_index"
"""The kind of finding for an index that differs: rebuilding it from the chunks repairs it."""

# Each query counts what differs.
_NO_POSTING = """
    SELECT count(*) FROM chunks c
    LEFT JOIN postings p ON p.corpus = c.corpus AND p.chunk_id = c.chunk_id
    WHERE c.corpus = %(corpus)s
      AND (p.chunk_id IS NULL
           OR (p.repo, p.path, p.language, p.item_state, p.created_at, p.access)
               IS DISTINCT FROM (c.repo, c.path, c.language, c.item_state, c.created_at, c.access))
"""
_NO_CHUNK = """
    SELECT count(*) FROM postings p WHERE p.corpus = %(corpus)s AND NOT EXISTS (
        SELECT 1 FROM chunks c WHERE c.corpus = p.corpus AND c.chunk_id = p.chunk_id)
"""
_TERMS = """
    SELECT count(*) FROM (
        SELECT term_id, count(*)::int AS df FROM postings, unnest(terms) AS term_id
        WHERE corpus = %(corpus)s GROUP BY term_id
    ) AS there FULL JOIN (SELECT term_id, df FROM terms WHERE corpus = %(corpus)s) AS counted
    USING (term_id) WHERE there.df IS DISTINCT FROM counted.df
"""
_TERMS_OF_CLASSES = """
    SELECT count(*) FROM (
        SELECT access, term_id, count(*)::int AS df FROM postings, unnest(terms) AS term_id
        WHERE corpus = %(corpus)s AND access <> 0 GROUP BY access, term_id
    ) AS there FULL JOIN (
        SELECT access, term_id, df FROM access_terms WHERE corpus = %(corpus)s
    ) AS counted USING (access, term_id) WHERE there.df IS DISTINCT FROM counted.df
"""
_REPOS = """
    SELECT count(*) FROM (
        SELECT repo, count(*) AS chunks FROM postings WHERE corpus = %(corpus)s GROUP BY repo
    ) AS there FULL JOIN (SELECT repo, chunks FROM repos WHERE corpus = %(corpus)s) AS counted
    USING (repo) WHERE coalesce(there.chunks, 0) <> coalesce(counted.chunks, 0)
"""
_TOTALS = """
    SELECT count(*) FROM (
        SELECT count(*) AS chunks, coalesce(sum(length), 0)::bigint AS total_length
        FROM postings WHERE corpus = %(corpus)s
    ) AS p LEFT JOIN corpora t ON t.corpus = %(corpus)s
    WHERE (coalesce(t.chunks, 0), coalesce(t.total_length, 0)) <> (p.chunks, p.total_length)
"""
_DIFFERENCES = (_NO_POSTING, _NO_CHUNK, _TERMS, _TERMS_OF_CLASSES, _REPOS, _TOTALS)
_STORED = f"""
    SELECT {", ".join(f"c.{name}" for name in bm25.ANALYSED)},
           p.length, p.terms, p.counts, sparsevec_send(p.bm25)
    FROM chunks c JOIN postings p ON p.corpus = c.corpus AND p.chunk_id = c.chunk_id
    WHERE c.corpus = %(corpus)s
"""


def text_differences(conn: Connection, corpus: str) -> int:
    """In how many places a corpus's text index differs from its chunks."""
    count = sum(int(fetch(conn, query, corpus)[0][0]) for query in _DIFFERENCES)
    # Each posting must have the terms, counts, length and weights of its chunk's text.
    with conn.cursor(name="stored", binary=True) as cursor:
        cursor.itersize = ROWS_AT_ONCE
        cursor.execute(_STORED, {"corpus": corpus})
        for *text, length, terms, counts, weights in cursor:
            made = bm25.term_counts(bm25.analysed_text(*text))
            same = (made.length, bm25.index_keys(made), made.counts.tolist())
            count += (*same, bm25.weights_bytes(made)) != (length, terms, counts, weights)
    return count


def fetch(conn: Connection, query: str, corpus: str) -> list[tuple[Any, ...]]:
    """The rows of ``query`` for ``corpus``."""
    return conn.execute(query, {"corpus": corpus}).fetchall()
