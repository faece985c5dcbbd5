"""Chunk: documents are cut to what the embedding model's window holds."""

from __future__ import annotations

import hashlib

import polars as pl
from hamilton.function_modifiers import tag

from operators.embedding.passage import embedded_text as text_to_embed
from operators.embedding.protocol import Embedder
from operators.sources.chunking.chunk_places import add_places
from operators.sources.chunking.chunker import chunk_documents


@tag(stage="chunk")
def chunks(dated_documents: pl.DataFrame, embedder: Embedder) -> pl.DataFrame:
    """The documents' chunks with their positions, frame CHUNKS without ``embedding``."""
    cut = chunk_documents(dated_documents, embedder.count_tokens, embedder.max_tokens)
    return add_places(cut, dated_documents)


@tag(stage="chunk")
def embedded_texts(chunks: pl.DataFrame) -> pl.DataFrame:
    """What the model reads of each chunk, and its SHA-256: columns ``text``, ``text_hash``."""
    texts = [text_to_embed(*row) for row in chunks.select("title", "anchor", "text").iter_rows()]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    return pl.DataFrame(
        {"text": texts, "text_hash": hashes}, schema={"text": pl.String, "text_hash": pl.String}
    )
