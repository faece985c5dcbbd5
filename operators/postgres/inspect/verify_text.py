"""The errors of a corpus's text index: its postings and counts, compared with its chunks."""

from collections.abc import Iterator
from typing import Any

from operators.postgres.server_cursor import ROWS_AT_ONCE
from operators.postgres.store import Connection
from operators.ranking import bm25

TEXT_KINDS = (
    *("no_posting", "wrong_posting", "stray_posting"),
    *("wrong_terms", "wrong_df", "wrong_totals"),
)
"""The kinds of :func:`check_text`: rebuilding the corpus's text index repairs them."""

Finding = tuple[str, str | None, str | None, str]  # kind, repo, document_id, says

_NO_POSTING = """
    SELECT c.repo, c.document_id, p.chunk_id IS NULL FROM chunks c
    LEFT JOIN postings p ON p.corpus = c.corpus AND p.chunk_id = c.chunk_id
    WHERE c.corpus = %(corpus)s
      AND (p.chunk_id IS NULL
           OR (p.repo, p.path, p.language, p.item_state, p.created_at, p.access)
               IS DISTINCT FROM (c.repo, c.path, c.language, c.item_state, c.created_at, c.access))
    ORDER BY c.chunk_id
"""
_NO_CHUNK = """
    SELECT count(*) FROM postings p WHERE p.corpus = %(corpus)s AND NOT EXISTS (
        SELECT 1 FROM chunks c WHERE c.corpus = p.corpus AND c.chunk_id = p.chunk_id)
"""
_WRONG_TERMS = """
    SELECT count(*) FROM (
        SELECT term_id, count(*)::int AS df FROM postings, unnest(terms) AS term_id
        WHERE corpus = %(corpus)s GROUP BY term_id
    ) AS there FULL JOIN (SELECT term_id, df FROM terms WHERE corpus = %(corpus)s) AS counted
    USING (term_id) WHERE there.df IS DISTINCT FROM counted.df
"""
_WRONG_OF_CLASS = """
    SELECT count(*) FROM (
        SELECT access, term_id, count(*)::int AS df FROM postings, unnest(terms) AS term_id
        WHERE corpus = %(corpus)s AND access <> 0 GROUP BY access, term_id
    ) AS there FULL JOIN (
        SELECT access, term_id, df FROM access_terms WHERE corpus = %(corpus)s
    ) AS counted USING (access, term_id) WHERE there.df IS DISTINCT FROM counted.df
"""
_WRONG_REPOS = """
    SELECT repo, coalesce(counted.chunks, 0), coalesce(there.chunks, 0) FROM (
        SELECT repo, count(*) AS chunks FROM postings WHERE corpus = %(corpus)s GROUP BY repo
    ) AS there FULL JOIN (SELECT repo, chunks FROM repos WHERE corpus = %(corpus)s) AS counted
    USING (repo) WHERE coalesce(there.chunks, 0) <> coalesce(counted.chunks, 0) ORDER BY repo
"""
_TOTALS = """
    SELECT t.chunks, t.total_length, p.chunks, p.total_length
    FROM (SELECT count(*) AS chunks, coalesce(sum(length), 0)::bigint AS total_length
          FROM postings WHERE corpus = %(corpus)s) AS p
    LEFT JOIN corpora t ON t.corpus = %(corpus)s
"""
_HELD = f"""
    SELECT {", ".join(f"c.{name}" for name in bm25.ANALYSED)},
           p.length, p.terms, p.counts, sparsevec_send(p.bm25)
    FROM chunks c JOIN postings p ON p.corpus = c.corpus AND p.chunk_id = c.chunk_id
    WHERE c.corpus = %(corpus)s
"""


def check_text(conn: Connection, corpus: str) -> Iterator[Finding]:
    """The differences between a corpus's text index and its chunks."""
    # Each chunk must have a posting with the same filter values.
    for repo, document_id, missing in fetch(conn, _NO_POSTING, corpus):
        if missing:
            yield "no_posting", repo, document_id, "a chunk that text search does not know"
        else:
            yield "wrong_posting", repo, document_id, "text search filters a chunk by other values"
    ((strays,),) = fetch(conn, _NO_CHUNK, corpus)
    if strays:
        yield "stray_posting", None, None, f"text search knows {strays} chunks that are gone"
    # Each posting must have the terms, counts, length and weights of its chunk's text.
    wrong = 0
    with conn.cursor(name="held", binary=True) as cursor:
        cursor.itersize = ROWS_AT_ONCE
        cursor.execute(_HELD, {"corpus": corpus})
        for *text, length, terms, counts, weights in cursor:
            made = bm25.term_counts(bm25.analysed_text(*text))
            same = (made.length, bm25.index_keys(made), made.counts.tolist())
            weighed = bm25.weights_bytes(made)
            wrong += (*same, weighed) != (length, terms, counts, weights)
    if wrong:
        says = f"text search knows {wrong} chunks by other terms than their text has"
        yield "wrong_terms", None, None, says
    # The counts must be those of the postings.
    terms = sum(fetch(conn, of, corpus)[0][0] for of in (_WRONG_TERMS, _WRONG_OF_CLASS))
    if terms:
        yield "wrong_df", None, None, f"the counts of {terms} terms are off"
    for repo, counted, held in fetch(conn, _WRONG_REPOS, corpus):
        yield "wrong_totals", repo, None, f"{held} chunks, {counted} are counted"
    (totals,) = fetch(conn, _TOTALS, corpus)
    if totals[:2] != totals[2:] and totals != (None, None, 0, 0):
        counted = "none are" if totals[0] is None else f"{totals[0]} and {totals[1]} are"
        says = f"{totals[2]} chunks, {totals[3]} tokens; {counted} counted"
        yield "wrong_totals", None, None, says


def fetch(conn: Connection, query: str, corpus: str) -> list[tuple[Any, ...]]:
    """The rows of ``query`` for ``corpus``."""
    return conn.execute(query, {"corpus": corpus}).fetchall()
