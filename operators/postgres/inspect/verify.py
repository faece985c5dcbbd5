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
from uuid import UUID

import numpy as np
import polars as pl

from operators.embedding.passage import embedded_text
from operators.postgres.inspect.verify_text import (
    Told,
    check_counts,
    check_postings,
    check_terms,
    delete_postings,
    fetch,
)
from operators.postgres.schema.indexes import finish_load
from operators.postgres.schema.partitions import lock_writers
from operators.postgres.schema.pending_indexes import unfinished_corpora
from operators.postgres.store import Connection, Store
from operators.postgres.write.term_statistics import Deltas, apply_deltas, delete_chunks

LOST = "a part of it was lost in the store; the next ingestion of its source brings it back"

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
        ``stray_posting``, ``wrong_terms``, ``wrong_df``, ``wrong_totals``, ``unfinished``. None:
        all is well.
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
    for part in (_strangers, _documents, _vectors, check_postings, check_terms, check_counts):
        for kind, repo, document_id, says in part(conn, corpus, repair):
            found.append((kind, corpus, repo, document_id, says, repair))
    return found


def _strangers(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    for repo, document_id, chunk_ids in fetch(conn, _STRANGERS, corpus):
        yield "stray_chunks", repo, document_id, f"{len(chunk_ids)} chunks of no document"
        if repair:
            conn.execute(
                "DELETE FROM chunks WHERE corpus = %s AND chunk_id = ANY(%s)", (corpus, chunk_ids)
            )
            delete_postings(conn, corpus, chunk_ids)


def _documents(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    lost = []
    for key, repo, document_id, state, told, held in fetch(conn, _DOCUMENTS, corpus):
        lost.append(key)
        if told == held and (state == "indexed") == (held > 0):
            yield "wrong_ordinals", repo, document_id, f"its {held} chunks are not numbered in turn"
        else:
            says = f"{held} chunks, its ledger row says {state} with {told}"
            yield "lost_chunks", repo, document_id, says
    if repair:
        _take_out(conn, corpus, lost)


def _vectors(conn: Connection, corpus: str, repair: bool) -> Iterator[Told]:
    rows = fetch(conn, _NO_VECTOR, corpus)
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


def _take_out(conn: Connection, corpus: str, keys: list[UUID]) -> None:
    deltas = {corpus: Deltas()}
    delete_chunks(conn, keys, deltas)
    apply_deltas(conn, deltas)
    conn.execute(
        "UPDATE documents SET state = 'failed', reason = %s, chunks = 0, content_hash = NULL"
        " WHERE document_key = ANY(%s)",
        (LOST, keys),
    )
