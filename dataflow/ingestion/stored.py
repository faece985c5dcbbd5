"""Store: the batch's documents take the place of their earlier versions, in one transaction."""

from __future__ import annotations

import polars as pl
from hamilton.function_modifiers import tag

from operators.postgres.store import Store
from operators.postgres.write.document_writer import Written, write_documents


@tag(stage="store", io="postgres")
def written(ledger_entries: pl.DataFrame, chunk_embeddings: pl.DataFrame, store: Store) -> Written:
    """What was committed: documents with their chunks, ledger rows and term counts."""
    return write_documents(store, ledger_entries, chunk_embeddings)
