"""Compares a collection with its ledger, and repairs it.

Documents must be complete. So a document that has lost a part is removed and marked in its ledger
row: the next ingestion of its source restores it. A text index that differs from the chunks of its
corpus is rebuilt from them.

Nobody can write to a corpus during its check; searches continue.
"""

from functools import partial

import polars as pl

from operators.errors import counted
from operators.postgres.inspect.verify_text import TEXT_INDEX, fetch, text_differences
from operators.postgres.schema.indexes import make_searchable, pending_corpora
from operators.postgres.schema.partitions import lock_writers
from operators.postgres.store import Connection, Store
from operators.postgres.write.document_classes import SHARES_READERS
from operators.postgres.write.postings import rebuild_postings
from operators.postgres.write.term_statistics import take_out

LOST = "a part of it was lost in the store; the next ingestion of its source brings it back"

DAMAGED = "its chunks are not those of its ledger row, or not numbered in turn"

FINDINGS = pl.Schema(
    {
        **dict.fromkeys(("kind", "corpus", "repo"), pl.String()),
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
# The ledger row of a document, beside its chunks in the collection.
_DOCUMENTS = """
    WITH stored AS (
        SELECT document_key, count(*) AS chunks, min(ordinal) AS first, max(ordinal) AS last,
               count(DISTINCT ordinal) AS ordinals
        FROM chunks WHERE corpus = %(corpus)s GROUP BY document_key
    )
    SELECT d.document_key, d.repo, d.document_id FROM documents d
    LEFT JOIN stored s USING (document_key)
    WHERE d.corpus = %(corpus)s
      AND (d.chunks <> coalesce(s.chunks, 0) OR (d.state = 'indexed') <> (d.chunks > 0)
           OR s.first <> 0 OR s.last <> s.chunks - 1 OR s.ordinals <> s.chunks)
    ORDER BY d.repo COLLATE "C", d.document_id COLLATE "C"
"""
_STRANGERS = """
    SELECT c.repo, c.document_id, array_agg(c.chunk_id) FROM chunks c
    WHERE c.corpus = %(corpus)s AND NOT EXISTS (
        SELECT 1 FROM documents d WHERE d.document_key = c.document_key AND d.corpus = c.corpus
           AND d.repo = c.repo AND d.document_id = c.document_id)
    GROUP BY c.repo, c.document_id ORDER BY 1, 2
"""
# A passage must have the rights of its document.
_WRONG_RIGHTS = f"""
    SELECT d.repo, d.document_id, count(*) FROM chunks c JOIN documents d USING (document_key)
    WHERE c.corpus = %(corpus)s AND c.access <> d.access AND {SHARES_READERS}
    GROUP BY 1, 2 ORDER BY 1, 2
"""
_RIGHTS_OF_DOCUMENTS = f"""
    UPDATE chunks c SET access = d.access FROM documents d
    WHERE c.corpus = %(corpus)s AND d.document_key = c.document_key AND c.access <> d.access
        AND {SHARES_READERS}
"""
Finding = tuple[str, str, str | None, str | None, str, bool]


def verify(store: Store, *, repair: bool = False) -> pl.DataFrame:
    """The inconsistencies between a collection's ledger, its chunks and its text index.

    Args:
        repair: remove documents that have lost a part and mark them as failed, so that the next
            ingestion of their source restores them; rebuild wrong text indexes.

    Returns:
        One row a finding (columns: ``FINDINGS``), by corpus. Kinds: ``lost_chunks``,
        ``stray_chunks``, ``text_index``, ``wrong_rights``, ``unfinished``. No rows: nothing is
        wrong.
        A chunk without a vector is no finding: a worker will embed it.
    """
    findings: list[Finding] = []
    for (corpus,) in store.rows(_CORPORA):
        findings += store.run(partial(_look, corpus=corpus, repair=repair))
    for corpus in pending_corpora(store):
        if not any(row[0] != "unfinished" and row[1] == corpus and row[5] for row in findings):
            findings.append(("unfinished", corpus, None, None, "an index is missing", repair))
        if repair:
            make_searchable(store, [corpus])
    store.forget_info()
    return pl.DataFrame(findings, schema=FINDINGS, orient="row").sort(
        "corpus", "kind", "repo", "document_id", nulls_last=True, maintain_order=True
    )


def _look(conn: Connection, corpus: str, repair: bool) -> list[Finding]:
    lock_writers(conn, [corpus], alone=True)
    strays = fetch(conn, _STRANGERS, corpus)
    text = text_differences(conn, corpus)
    seen = [
        ("wrong_rights", *of, f"{counted(count, 'chunk')} with other rights than the document")
        for *of, count in fetch(conn, _WRONG_RIGHTS, corpus)
    ]
    if repair:  # first, so that a document is kept if strays are its only fault
        conn.execute(
            "DELETE FROM chunks WHERE corpus = %s AND chunk_id = ANY(%s)",
            (corpus, [chunk_id for *_, ids in strays for chunk_id in ids]),
        )
    damaged = fetch(conn, _DOCUMENTS, corpus)
    if repair:
        keys = [row[0] for row in damaged]
        take_out(conn, corpus, keys)
        conn.execute(
            "UPDATE documents SET state = 'failed', reason = %s, chunks = 0, content_hash = NULL"
            " WHERE document_key = ANY(%s)",
            (LOST, keys),
        )
        conn.execute(_RIGHTS_OF_DOCUMENTS, {"corpus": corpus})
        if strays or text or seen:
            rebuild_postings(conn, corpus)
    findings = [
        *(("stray_chunks", *of, f"{counted(len(i), 'chunk')} of no document") for *of, i in strays),
        *(("lost_chunks", *of, DAMAGED) for _, *of in damaged),
        *(
            [(TEXT_INDEX, None, None, f"{counted(text, 'difference')} from the chunks")]
            * (text > 0)
        ),
        *seen,
    ]
    return [(kind, corpus, repo, document, says, repair) for kind, repo, document, says in findings]
