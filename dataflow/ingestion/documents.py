"""Read: a bounded batch of documents becomes a frame."""

from __future__ import annotations

import polars as pl
from hamilton.function_modifiers import tag

from operators.frames import DOCUMENTS, check
from operators.sources.items import Document, content_hash, document_frame


@tag(stage="read")
def documents(batch: list[Document]) -> pl.DataFrame:
    """The batch's documents, one row each, in the order they were read."""
    return check(document_frame(batch), DOCUMENTS, "documents")


@tag(stage="read")
def ledger_entries(
    documents: pl.DataFrame, batch: list[Document], fingerprint: str
) -> pl.DataFrame:
    """The documents with what the next run compares: ``content_hash`` and ``fingerprint``."""
    return documents.with_columns(
        pl.Series("content_hash", [content_hash(d) for d in batch], dtype=pl.String),
        pl.lit(fingerprint).alias("fingerprint"),
    )
