"""The links of learned findings: a finding without a link of its own has that of its file.

It is looked up when the finding is read, because the file may be ingested later, or move.
"""

from __future__ import annotations

from uuid import UUID

import polars as pl

from operators.arrays.rows import replaced
from operators.postgres.search.batches import Deadline, run
from operators.postgres.store import Connection, Store
from operators.postgres.write.document_writer import document_key

FINDINGS = "memory"
FILES = ("code", "docs")
"""The corpora of files, each of which is a document that its path names."""


def link_findings(store: Store, chunks: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """``chunks`` with the ``uri`` of its file for each finding that has none.

    Args:
        store: the open collection.
        chunks: columns corpus, repo, path and uri, and any others; a finding's file is the one of
            its path in its own repository.
        deadline: of the look-up; without a finding that lacks a link, there is none.
    """
    rows = list(chunks["corpus", "repo", "path", "uri"].iter_rows())
    about = {
        number: [document_key(name, repo, path) for name in FILES]
        for number, (corpus, repo, path, uri) in enumerate(rows)
        if corpus == FINDINGS and path and uri is None
    }
    if not about:
        return chunks
    keys = sorted({key for some in about.values() for key in some})

    def read(conn: Connection) -> dict[UUID, str]:
        statement = """SELECT document_key, uri FROM documents
            WHERE document_key = ANY(%s) AND uri IS NOT NULL"""
        return dict(conn.execute(statement, (keys,)).fetchall())

    links = run(store, deadline, read)
    uris = [
        next((links[key] for key in about.get(number, ()) if key in links), uri)
        for number, (*_, uri) in enumerate(rows)
    ]
    return replaced(chunks, pl.Series("uri", uris, dtype=pl.String))
