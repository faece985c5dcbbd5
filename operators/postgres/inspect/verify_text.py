"""The text index against the chunks that it is of: a part of `verify`.

A posting follows from its chunk's text, the counts follow from the postings: each is made anew and
compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from operators.postgres.store import Connection
from operators.postgres.write import copy_binary
from operators.postgres.write.term_statistics import Deltas, apply_deltas
from operators.ranking import bm25

ROWS_AT_ONCE = 2_000

Told = tuple[str, str | None, str | None, str]  # kind, repo, document_id, says

_NO_POSTING = """
    SELECT c.chunk_id, c.repo, c.document_id, p.chunk_id IS NULL FROM chunks c
    LEFT JOIN postings p ON p.corpus = c.corpus AND p.chunk_id = c.chunk_id
    WHERE c.corpus = %(corpus)s
      AND (p.chunk_id IS NULL
           OR (p.repo, p.path, p.language, p.item_state, p.created_at)
               IS DISTINCT FROM (c.repo, c.path, c.language, c.item_state, c.created_at))
    ORDER BY c.chunk_id
"""
_NO_CHUNK = """
    SELECT p.chunk_id FROM postings p WHERE p.corpus = %(corpus)s AND NOT EXISTS (
        SELECT FROM chunks c WHERE c.corpus = p.corpus AND c.chunk_id = p.chunk_id)
"""
_WRONG_TERMS = """
    SELECT count(*) FROM (
        SELECT term_id, count(*)::int AS df FROM postings, unnest(terms) AS term_id
        WHERE corpus = %(corpus)s GROUP BY term_id
    ) AS there FULL JOIN (SELECT term_id, df FROM terms WHERE corpus = %(corpus)s) AS told
    USING (term_id) WHERE there.df IS DISTINCT FROM told.df
"""
_WRONG_REPOS = """
    SELECT repo, coalesce(told.chunks, 0), coalesce(there.chunks, 0) FROM (
        SELECT repo, count(*) AS chunks FROM postings WHERE corpus = %(corpus)s GROUP BY repo
    ) AS there FULL JOIN (SELECT repo, chunks FROM repos WHERE corpus = %(corpus)s) AS told
    USING (repo) WHERE coalesce(there.chunks, 0) <> coalesce(told.chunks, 0) ORDER BY repo
"""
_TOTALS = """
    SELECT t.chunks, t.total_length, p.chunks, p.total_length
    FROM (SELECT count(*) AS chunks, coalesce(sum(length), 0)::bigint AS total_length
          FROM postings WHERE corpus = %(corpus)s) AS p
    LEFT JOIN corpora t ON t.corpus = %(corpus)s
"""
_HELD = """
    SELECT c.chunk_id, c.title, c.anchor, c.path, c.text, p.length, p.terms, p.counts, p.bm25
    FROM chunks c JOIN postings p ON p.corpus = c.corpus AND p.chunk_id = c.chunk_id
    WHERE c.corpus = %(corpus)s
"""
# Only what differs is written. An average length of 0 has the corpus weighed anew.
_RECOUNT = (
    """
    CREATE TEMP TABLE recounted ON COMMIT DROP AS
    SELECT term_id, count(*)::int AS df FROM postings, unnest(terms) AS term_id
    WHERE corpus = %(corpus)s GROUP BY term_id
    """,
    """
    DELETE FROM terms t WHERE corpus = %(corpus)s
      AND NOT EXISTS (SELECT FROM recounted r WHERE r.term_id = t.term_id)
    """,
    """
    INSERT INTO terms (corpus, term_id, df) SELECT %(corpus)s, term_id, df FROM recounted
    ON CONFLICT (corpus, term_id) DO UPDATE SET df = excluded.df WHERE terms.df <> excluded.df
    """,
    """
    UPDATE repos r SET chunks = 0 WHERE corpus = %(corpus)s AND chunks <> 0
      AND NOT EXISTS (SELECT FROM postings p WHERE p.corpus = %(corpus)s AND p.repo = r.repo)
    """,
    """
    INSERT INTO repos (corpus, repo, chunks)
    SELECT %(corpus)s, repo, count(*) FROM postings WHERE corpus = %(corpus)s GROUP BY repo
    ON CONFLICT (corpus, repo) DO UPDATE SET chunks = excluded.chunks
      WHERE repos.chunks <> excluded.chunks
    """,
    """
    INSERT INTO corpora (corpus, chunks, total_length, average_length)
    SELECT %(corpus)s, count(*), coalesce(sum(length), 0), 0 FROM postings WHERE corpus = %(corpus)s
    ON CONFLICT (corpus) DO UPDATE
      SET chunks = excluded.chunks, total_length = excluded.total_length
      WHERE (corpora.chunks, corpora.total_length) <> (excluded.chunks, excluded.total_length)
    """,
)


def check_postings(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    """Each chunk has its posting, with its own values to filter by."""
    rows = fetch(conn, _NO_POSTING, corpus)
    for _, repo, document_id, missing in rows:
        if missing:
            yield "no_posting", repo, document_id, "a chunk that text search does not know"
        else:
            yield "wrong_posting", repo, document_id, "text search filters a chunk by other values"
    strays = [row[0] for row in fetch(conn, _NO_CHUNK, corpus)]
    if strays:
        yield "stray_posting", None, None, f"text search knows {len(strays)} chunks that are gone"
    if repair:
        delete_postings(conn, corpus, strays)
        _index_anew(conn, corpus, [row[0] for row in rows])


def check_terms(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    """Each posting has the terms, counts, length and weights that its chunk's text gives."""
    wrong = list(_otherwise(conn, corpus))
    if wrong:
        says = f"text search knows {len(wrong)} chunks by other terms than their text has"
        yield "wrong_terms", None, None, says
    if repair:
        _index_anew(conn, corpus, wrong)


def _otherwise(conn: Connection, corpus: str) -> Iterator[int]:
    """The chunks whose posting is not what their text gives."""
    average = _average(conn, corpus)
    with conn.cursor(name="held", binary=True) as cursor:
        cursor.execute(_HELD, {"corpus": corpus})
        while held := cursor.fetchmany(ROWS_AT_ONCE):
            counts = [bm25.term_counts(bm25.analysed_text(*row[1:5])) for row in held]
            for row, counted, weights in zip(held, counts, _weights(counts, average), strict=True):
                length, terms, numbers, stored = row[5:]
                same = (counted.length, counted.terms.tolist(), counted.counts.tolist())
                if same != (length, terms, numbers) or weights[4:] != stored:
                    yield row[0]


def check_counts(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    """The counts are those of the postings."""
    terms = fetch(conn, _WRONG_TERMS, corpus)[0][0]
    if terms:
        yield "wrong_df", None, None, f"the counts of {terms} terms are off"
    for repo, told, held in fetch(conn, _WRONG_REPOS, corpus):
        yield "wrong_totals", repo, None, f"{held} chunks, {told} are told"
    totals = fetch(conn, _TOTALS, corpus)[0]
    if totals[:2] != totals[2:] and totals != (None, None, 0, 0):
        told = "none are told" if totals[0] is None else f"{totals[0]} and {totals[1]} are told"
        yield "wrong_totals", None, None, f"{totals[2]} chunks, {totals[3]} tokens; {told}"
    if repair:
        for statement in _RECOUNT:
            conn.execute(statement, {"corpus": corpus})


def delete_postings(conn: Connection, corpus: str, chunk_ids: list[int]) -> None:
    """Delete the postings of chunks and count them out."""
    deltas = {corpus: Deltas()}
    gone = conn.execute(
        "DELETE FROM postings WHERE corpus = %s AND chunk_id = ANY(%s)"
        " RETURNING repo, length, terms",
        (corpus, chunk_ids),
    )
    for repo, length, terms in gone:
        deltas[corpus].count(repo, length, np.array(terms, dtype=np.int64), -1)
    apply_deltas(conn, deltas)


def _index_anew(conn: Connection, corpus: str, chunk_ids: list[int]) -> None:
    """Make the postings of chunks anew."""
    for start in range(0, len(chunk_ids), ROWS_AT_ONCE):
        some = chunk_ids[start : start + ROWS_AT_ONCE]
        delete_postings(conn, corpus, some)
        _index_text(conn, corpus, some)


def _average(conn: Connection, corpus: str) -> float:
    """The average length that the corpus's weights are made with."""
    row = fetch(conn, "SELECT average_length FROM corpora WHERE corpus = %(corpus)s", corpus)
    return float(row[0][0]) or 1.0 if row else 1.0


def _weights(counts: Sequence[bm25.TermCounts], average: float) -> list[bytes]:
    """The encoded weights of chunks."""
    weights = [bm25.weights(c.counts, c.length, average) for c in counts]
    return copy_binary.sparsevec([c.terms for c in counts], weights, bm25.DIMENSIONS)


def _index_text(conn: Connection, corpus: str, chunk_ids: list[int]) -> None:
    """Make the postings of chunks that have none."""
    rows = conn.execute(
        "SELECT chunk_id, repo, title, anchor, path, text FROM chunks"
        " WHERE corpus = %s AND chunk_id = ANY(%s)",
        (corpus, chunk_ids),
    ).fetchall()
    counts = [bm25.term_counts(bm25.analysed_text(*row[2:])) for row in rows]
    columns = [
        copy_binary.int8([row[0] for row in rows]),
        copy_binary.int4([c.length for c in counts]),
        copy_binary.int4_array([c.terms for c in counts]),
        copy_binary.int4_array([c.counts for c in counts]),
        _weights(counts, _average(conn, corpus)),
    ]
    conn.execute(
        "CREATE TEMP TABLE IF NOT EXISTS indexed (chunk_id bigint, length int, terms int[],"
        " counts int[], bm25 sparsevec(1000000000)) ON COMMIT DROP"
    )
    conn.execute("TRUNCATE indexed")
    with conn.cursor() as cursor, cursor.copy("COPY indexed FROM STDIN (FORMAT binary)") as copy:
        copy.write(copy_binary.rows(columns))
    conn.execute(
        "INSERT INTO postings (corpus, chunk_id, repo, path, language, item_state, created_at,"
        " length, terms, counts, bm25)"
        " SELECT c.corpus, c.chunk_id, c.repo, c.path, c.language, c.item_state, c.created_at,"
        " i.length, i.terms, i.counts, i.bm25"
        " FROM indexed i JOIN chunks c ON c.corpus = %s AND c.chunk_id = i.chunk_id",
        (corpus,),
    )
    deltas = {corpus: Deltas()}
    for row, counted in zip(rows, counts, strict=True):
        deltas[corpus].count(row[1], counted.length, counted.terms, 1)
    apply_deltas(conn, deltas)


def fetch(conn: Connection, query: str, corpus: str) -> list[tuple[Any, ...]]:
    """What ``query`` says of ``corpus``."""
    return conn.execute(query, {"corpus": corpus}).fetchall()
