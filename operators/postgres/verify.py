"""Does a collection hold what its ledger says: found, told, and put right.

Whole documents are the promise, so that a document of which a part is lost is taken out and its
ledger row says so: the next ingestion of its source brings it in again. Everything that follows
from the chunks themselves (the text index, its counts, a vector that the cache still has) is made
anew from them.

Each corpus is looked at while nobody writes to it; searches go on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl

from operators.postgres import bm25, copy_binary
from operators.postgres.counts import Deltas, apply_deltas, delete_chunks
from operators.postgres.finish import finish_load
from operators.postgres.partitions import lock_writers
from operators.postgres.store import Connection, Store
from operators.postgres.unfinished import unfinished_corpora
from operators.sources.chunking import embedded_text

LOST = "a part of it was lost in the store; the next ingestion of its source brings it back"
ROWS_AT_ONCE = 2_000

FINDINGS = pl.Schema(
    {
        "kind": pl.String(),
        "corpus": pl.String(),
        "repo": pl.String(),
        "document_id": pl.String(),  # null: the corpus as a whole
        "says": pl.String(),
        "repaired": pl.Boolean(),
    }
)

_CORPORA = """
    SELECT corpus FROM documents UNION SELECT corpus FROM chunks UNION SELECT corpus FROM postings
    UNION SELECT corpus FROM corpora UNION SELECT corpus FROM repos UNION SELECT corpus FROM terms
    ORDER BY 1
"""
# What the ledger says of a document beside what there is of it.
_DOCUMENTS = """
    WITH held AS (
        SELECT document_key, count(*) AS chunks, min(ordinal) AS first, max(ordinal) AS last,
               count(DISTINCT ordinal) AS places
        FROM chunks WHERE corpus = %(corpus)s GROUP BY document_key
    )
    SELECT d.document_key, d.repo, d.document_id, d.state, d.chunks, coalesce(h.chunks, 0)
    FROM documents d LEFT JOIN held h USING (document_key)
    WHERE d.corpus = %(corpus)s
      AND (d.chunks <> coalesce(h.chunks, 0) OR (d.state = 'indexed') <> (d.chunks > 0)
           OR h.first <> 0 OR h.last <> h.chunks - 1 OR h.places <> h.chunks)
    ORDER BY d.repo COLLATE "C", d.document_id COLLATE "C"
"""
_STRANGERS = """
    SELECT c.repo, c.document_id, array_agg(c.chunk_id) FROM chunks c
    WHERE c.corpus = %(corpus)s AND NOT EXISTS (
        SELECT FROM documents d WHERE d.document_key = c.document_key AND d.corpus = c.corpus
           AND d.repo = c.repo AND d.document_id = c.document_id)
    GROUP BY c.repo, c.document_id ORDER BY 1, 2
"""
_NO_VECTOR = """
    SELECT document_key, chunk_id, repo, document_id, title, anchor, text FROM chunks
    WHERE corpus = %(corpus)s AND embedding IS NULL ORDER BY repo, document_id, ordinal
"""
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

Told = tuple[str, str | None, str | None, str]  # kind, repo, document_id, says
Finding = tuple[str, str, str | None, str | None, str, bool]


def verify(store: Store, *, repair: bool = False) -> pl.DataFrame:
    """What is wrong between a collection's ledger, its chunks and its text index.

    Args:
        store: the open collection.
        repair: put it right. A document that has lost a part is taken out whole and marked as
            failed, so that the next ingestion of its source brings it back.

    Returns:
        One row a finding (columns: ``FINDINGS``), by corpus. Kinds: ``lost_chunks``,
        ``wrong_ordinals``, ``stray_chunks``, ``no_vector``, ``no_posting``, ``wrong_posting``,
        ``stray_posting``, ``wrong_df``, ``wrong_totals``, ``unfinished``. None: all is well.
    """
    corpora = [str(row[0]) for row in store.run(lambda conn: conn.execute(_CORPORA).fetchall())]
    found: list[Finding] = []
    for corpus in corpora:
        found += store.run(lambda conn, corpus=corpus: _look(conn, corpus, repair))  # type: ignore[misc]
    # What repairs have changed the average length of is weighed anew, too.
    for corpus in unfinished_corpora(store):
        if not any(row[0] != "unfinished" and row[1] == corpus and row[5] for row in found):
            found.append(
                ("unfinished", corpus, None, None, "an index or weights are missing", repair)
            )
        if repair:
            finish_load(store, [corpus])
    store.forget_info()
    return pl.DataFrame(found, schema=FINDINGS, orient="row").sort(
        "corpus", "kind", "repo", "document_id", nulls_last=True, maintain_order=True
    )


def _look(conn: Connection, corpus: str, repair: bool) -> list[Finding]:
    """Look at one corpus; each repair is done before what builds on it is looked at."""
    lock_writers(conn, [corpus], alone=True)
    found: list[Finding] = []
    for part in (_strangers, _documents, _vectors, _postings, _counts):
        for kind, repo, document_id, says in part(conn, corpus, repair):
            found.append((kind, corpus, repo, document_id, says, repair))
    return found


def _strangers(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    for repo, document_id, chunk_ids in _rows(conn, _STRANGERS, corpus):
        yield "stray_chunks", repo, document_id, f"{len(chunk_ids)} chunks of no document"
        if repair:
            conn.execute(
                "DELETE FROM chunks WHERE corpus = %s AND chunk_id = ANY(%s)", (corpus, chunk_ids)
            )
            _delete_postings(conn, corpus, chunk_ids)


def _documents(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    lost = []
    for key, repo, document_id, state, told, held in _rows(conn, _DOCUMENTS, corpus):
        lost.append(key)
        if told == held and (state == "indexed") == (held > 0):
            yield "wrong_ordinals", repo, document_id, f"its {held} chunks are not numbered in turn"
        else:
            says = f"{held} chunks, its ledger row says {state} with {told}"
            yield "lost_chunks", repo, document_id, says
    if repair:
        _take_out(conn, corpus, lost)


def _vectors(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    rows = _rows(conn, _NO_VECTOR, corpus)
    for _, _, repo, document_id, *_ in rows:
        yield "no_vector", repo, document_id, "a chunk without a vector"
    if not rows or not repair:
        return
    hashes = [hashlib.sha256(embedded_text(*row[4:]).encode()).hexdigest() for row in rows]
    cached: dict[str, bytes] = dict(
        conn.execute(
            "SELECT text_hash, embedding FROM embedding_cache"
            " WHERE space = (SELECT space FROM collection) AND text_hash = ANY(%s)",
            (hashes,),
            binary=True,
        ).fetchall()
    )
    for row, text_hash in zip(rows, hashes, strict=True):
        if text_hash in cached:
            vector = np.frombuffer(cached[text_hash], dtype="<f2").tolist()
            conn.execute(
                "UPDATE chunks SET embedding = %s::text::halfvec"
                " WHERE corpus = %s AND chunk_id = %s",
                (str(vector), corpus, row[1]),
            )
    keys = [row[0] for row, key in zip(rows, hashes, strict=True) if key not in cached]
    _take_out(conn, corpus, keys)


def _postings(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    rows = _rows(conn, _NO_POSTING, corpus)
    for _, repo, document_id, missing in rows:
        if missing:
            yield "no_posting", repo, document_id, "a chunk that text search does not know"
        else:
            yield "wrong_posting", repo, document_id, "text search filters a chunk by other values"
    strays = [row[0] for row in _rows(conn, _NO_CHUNK, corpus)]
    if strays:
        yield "stray_posting", None, None, f"text search knows {len(strays)} chunks that are gone"
    if repair:
        wrong = [row[0] for row in rows]
        _delete_postings(conn, corpus, strays + wrong)
        for start in range(0, len(wrong), ROWS_AT_ONCE):
            _index_text(conn, corpus, wrong[start : start + ROWS_AT_ONCE])


def _counts(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    terms = _rows(conn, _WRONG_TERMS, corpus)[0][0]
    if terms:
        yield "wrong_df", None, None, f"the counts of {terms} terms are off"
    for repo, told, held in _rows(conn, _WRONG_REPOS, corpus):
        yield "wrong_totals", repo, None, f"{held} chunks, {told} are told"
    totals = _rows(conn, _TOTALS, corpus)[0]
    if totals[:2] != totals[2:] and totals != (None, None, 0, 0):
        told = "none are told" if totals[0] is None else f"{totals[0]} and {totals[1]} are told"
        yield "wrong_totals", None, None, f"{totals[2]} chunks, {totals[3]} tokens; {told}"
    if repair:
        for statement in _RECOUNT:
            conn.execute(statement, {"corpus": corpus})


def _take_out(conn: Connection, corpus: str, keys: list[UUID]) -> None:
    deltas = {corpus: Deltas()}
    delete_chunks(conn, keys, deltas)
    apply_deltas(conn, deltas)
    conn.execute(
        "UPDATE documents SET state = 'failed', reason = %s, chunks = 0, content_hash = NULL"
        " WHERE document_key = ANY(%s)",
        (LOST, keys),
    )


def _delete_postings(conn: Connection, corpus: str, chunk_ids: list[int]) -> None:
    deltas = {corpus: Deltas()}
    gone = conn.execute(
        "DELETE FROM postings WHERE corpus = %s AND chunk_id = ANY(%s)"
        " RETURNING repo, length, terms",
        (corpus, chunk_ids),
    )
    for repo, length, terms in gone:
        deltas[corpus].count(repo, length, np.array(terms, dtype=np.int64), -1)
    apply_deltas(conn, deltas)


def _index_text(conn: Connection, corpus: str, chunk_ids: list[int]) -> None:
    """Make the postings of chunks that have none."""
    average = _rows(conn, "SELECT average_length FROM corpora WHERE corpus = %(corpus)s", corpus)
    rows = conn.execute(
        "SELECT chunk_id, repo, title, anchor, path, text FROM chunks"
        " WHERE corpus = %s AND chunk_id = ANY(%s)",
        (corpus, chunk_ids),
    ).fetchall()
    counts = [bm25.term_counts(bm25.analysed_text(*row[2:])) for row in rows]
    of_average = float(average[0][0]) if average else 1.0
    weights = [bm25.weights(c.counts, c.length, of_average or 1.0) for c in counts]
    columns = [
        copy_binary.int8([row[0] for row in rows]),
        copy_binary.int4([c.length for c in counts]),
        copy_binary.int4_array([c.terms for c in counts]),
        copy_binary.int4_array([c.counts for c in counts]),
        copy_binary.sparsevec([c.terms for c in counts], weights, bm25.DIMENSIONS),
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


def _rows(conn: Connection, query: str, corpus: str) -> list[tuple[Any, ...]]:
    return conn.execute(query, {"corpus": corpus}).fetchall()
