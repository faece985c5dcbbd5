"""Read and date: a bounded batch of documents becomes a frame whose dates can be trusted."""

from __future__ import annotations

import polars as pl
from hamilton.function_modifiers import tag

from operators.frames import DOCUMENTS, check
from operators.sources.chunking.chunker import CUT_BY_LINES
from operators.sources.dates.document_date import without_future_dates
from operators.sources.protocol import Document, content_hash, document_frame


@tag(stage="read")
def documents(batch: list[Document]) -> pl.DataFrame:
    """The batch's documents, one row each, in the order they were read."""
    return check(document_frame(batch), DOCUMENTS, "documents")


@tag(stage="date")
def dated_documents(documents: pl.DataFrame) -> pl.DataFrame:
    """The documents, without dates that lie in the future: none of those is the newest."""
    return without_future_dates(documents)


@tag(stage="store")
def ledger_entries(
    dated_documents: pl.DataFrame, chunks: pl.DataFrame, batch: list[Document], fingerprint: str
) -> pl.DataFrame:
    """The documents with what the next run compares, and a ``note`` on how some were read."""
    why = pl.col("metadata").str.json_path_match(f"$.{CUT_BY_LINES}")
    key = ["corpus", "repo", "document_id"]
    cut = chunks.select(*key, cut=pl.format("cut by lines: {}", why)).drop_nulls("cut").unique(key)
    return (
        dated_documents.with_columns(
            pl.Series("content_hash", [content_hash(d) for d in batch], dtype=pl.String),
            pl.lit(fingerprint).alias("fingerprint"),
            pl.Series("note", [d.note for d in batch], dtype=pl.String),
        )
        .join(cut, on=key, how="left", maintain_order="left")
        .with_columns(note=pl.coalesce("note", "cut"))
        .drop("cut")
    )
