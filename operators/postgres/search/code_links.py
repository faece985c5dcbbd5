"""The links of learned findings: a finding without its own link gets the link of its file.

The link is looked up when the finding is read, because the file may be ingested later, or move.
"""

from uuid import UUID

import polars as pl

from operators.arrays.rows import replaced
from operators.postgres.document_key import document_key
from operators.postgres.search.batches import Deadline, run
from operators.postgres.store import Store

FINDINGS = "memory"
FILES = ("code", "docs")
"""The corpora of files: a file is a document, and its path is the id."""


def link_findings(store: Store, chunks: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """``chunks`` in which each finding without a ``uri`` has the one of its file.

    The file is the one at the finding's path in its own repository (columns repo and path).
    """
    named = chunks["corpus", "repo", "path", "uri"].iter_rows()
    about = {
        number: [document_key(name, repo, path) for name in FILES]
        for number, (corpus, repo, path, uri) in enumerate(named)
        if corpus == FINDINGS and path and uri is None
    }
    if not about:
        return chunks
    keys = sorted({key for some in about.values() for key in some})
    statement = """SELECT document_key, uri FROM documents
        WHERE document_key = ANY(%s) AND uri IS NOT NULL"""
    rows = run(store, deadline, lambda conn: conn.execute(statement, (keys,)).fetchall())
    links: dict[UUID, str] = dict(rows)
    uris = chunks["uri"].to_list()
    for number, some in about.items():
        uris[number] = next((links[key] for key in some if key in links), None)
    return replaced(chunks, pl.Series("uri", uris, dtype=pl.String))
