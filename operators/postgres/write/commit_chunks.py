"""Stored commits with their chunks, which new rules may cut along their files."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from operators.foundation.principals import ALLOWED, RESTRICTED
from operators.frames import CHUNKS, DOCUMENTS
from operators.postgres.store import Store

AT_ONCE = 1_000
"""Commits in one batch."""

_LEDGER = pl.Schema(
    {
        **DOCUMENTS,
        "content_hash": pl.String(),
        "fingerprint": pl.String(),
        "note": pl.String(),
        "allowed": pl.List(pl.String()),
        "allowed_by": pl.String(),
    }
)
_STORED = {"state": "item_state", "note": "reason"}
_DOCUMENTS = f"""
    SELECT d.document_key::text,
        {", ".join(f"d.{_STORED.get(n, n)}" if n != "text" else "''" for n in [*_LEDGER][:-2])},
        a.principals, d.allowed_by
    FROM documents d LEFT JOIN access_classes a USING (access)
    WHERE d.document_key > %s AND d.path IS NULL AND d.state = 'indexed'
        AND d.allowed_by IS DISTINCT FROM 'source' AND d.metadata::json->>'commit' IS NOT NULL
        AND d.metadata::json->>'files' IS NOT NULL
    ORDER BY d.document_key LIMIT {AT_ONCE}
"""
_CHUNKS = f"""
    SELECT {", ".join(f"c.{_STORED.get(n, n)}" for n in CHUNKS if n != "embedding")},
        c.embedding::real[], a.principals
    FROM chunks c LEFT JOIN access_classes a USING (access)
    WHERE c.corpus = %s AND c.document_key = ANY(%s::uuid[])
    ORDER BY c.document_key, c.ordinal
"""


_METADATA = [name for name in CHUNKS if name != "embedding"].index("metadata")


class Commits(NamedTuple):
    """Commits of one corpus; ``documents`` and ``chunks`` as ``write_documents`` takes them."""

    documents: pl.DataFrame
    chunks: pl.DataFrame


def stored_commits(store: Store) -> Iterator[Commits]:
    """The stored commits that name files, those whose source states their rights apart."""
    after = "00000000-0000-0000-0000-000000000000"
    while rows := store.rows(_DOCUMENTS, (after,)):
        after = rows[-1][0]
        documents = pl.DataFrame([row[1:] for row in rows], schema=_LEDGER, orient="row")
        keys = [row[0] for row in rows]
        for corpus in sorted(set(documents["corpus"])):
            of = documents["corpus"] == corpus
            rows = store.rows(_CHUNKS, (corpus, [keys[at] for at in of.arg_true()]))
            chunks = pl.DataFrame([row[:-1] for row in rows], schema=CHUNKS, orient="row")
            readers = pl.Series("metadata", [_with_readers(row) for row in rows], pl.String)
            yield Commits(documents.filter(of), chunks.with_columns(readers))


def _with_readers(row: Sequence[Any]) -> str:
    """A chunk's metadata, in which a restricted one names its readers."""
    known = json.loads(row[_METADATA] or "{}")
    if known.pop(RESTRICTED, None):
        known[ALLOWED] = row[-1]
    return json.dumps(known, sort_keys=True, ensure_ascii=False)
