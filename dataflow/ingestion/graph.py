"""The ingestion graph: read -> date -> chunk -> embed -> store, for one bounded batch of documents.

A batch is stored with its cached vectors, so that keyword search finds it at once. The node
``new_vectors`` runs afterwards, for stored chunks (:mod:`dataflow.ingestion.vectors`).

A function here is a node, and its arguments are nodes or inputs of the graph.
"""

import numpy as np
import polars as pl
from hamilton.function_modifiers import tag
from numpy.typing import NDArray

from operators.embedding.cache import text_hash
from operators.embedding.passage import embedded_text
from operators.embedding.protocol import Embedder
from operators.frames import CHUNKS, DOCUMENTS, check
from operators.postgres.store import Store
from operators.postgres.write.document_writer import Written, write_documents
from operators.postgres.write.embedding_cache import cache_embeddings, cached_embeddings
from operators.sources.chunking.chunker import CUT_AGAIN, CUT_BY_LINES, chunk_documents
from operators.sources.dates.document_date import without_future_dates
from operators.sources.git.commit_rights import chunks_by_readers
from operators.sources.protocol import Document, content_hash, document_frame
from operators.sources.rights_rules import Rights, with_rights

Vectors = dict[str, NDArray[np.float32]]
"""text_hash -> vector, shape (dimensions,)."""


@tag(stage="read")
def documents(batch: list[Document]) -> pl.DataFrame:
    """The batch's documents, one row each, in the order they were read."""
    return check(document_frame(batch), DOCUMENTS, "documents")


@tag(stage="date")
def dated_documents(documents: pl.DataFrame) -> pl.DataFrame:
    """The documents without dates in the future, so that no such date makes one the newest."""
    return without_future_dates(documents)


@tag(stage="rights")
def documents_with_rights(dated_documents: pl.DataFrame, rights: Rights) -> pl.DataFrame:
    """The documents with the users and groups that may see them."""
    return with_rights(dated_documents, rights)


@tag(stage="chunk")
def chunks(documents_with_rights: pl.DataFrame, embedder: Embedder) -> pl.DataFrame:
    """The documents' chunks, cut to the model's window: frame CHUNKS without ``embedding``."""
    documents = documents_with_rights.select(DOCUMENTS.names())
    cut = chunk_documents(documents, embedder.count_tokens, embedder.max_tokens)
    return without_future_dates(cut)


@tag(stage="rights")
def readable_chunks(
    chunks: pl.DataFrame, documents_with_rights: pl.DataFrame, rights: Rights
) -> pl.DataFrame:
    """The chunks, those of commits cut along files that other people may see."""
    return chunks_by_readers(chunks, documents_with_rights, rights)


@tag(stage="chunk")
def embedded_texts(readable_chunks: pl.DataFrame) -> pl.DataFrame:
    """What the model reads of each chunk, and its SHA-256: columns ``text``, ``text_hash``."""
    columns = readable_chunks.select("title", "anchor", "text")
    texts = [embedded_text(*row) for row in columns.iter_rows()]
    hashes = [text_hash(text).hex() for text in texts]
    return pl.DataFrame(
        {"text": texts, "text_hash": hashes}, schema={"text": pl.String, "text_hash": pl.String}
    )


@tag(stage="embed", io="postgres")
def known_vectors(embedded_texts: pl.DataFrame, store: Store, embedder: Embedder) -> Vectors:
    """The cached vectors of these texts in the model's space, by text hash."""
    return cached_embeddings(store, embedder.space, embedded_texts["text_hash"].to_list())


@tag(stage="embed", io="embedding")
def new_vectors(
    embedded_texts: pl.DataFrame, known_vectors: Vectors, store: Store, embedder: Embedder
) -> Vectors:
    """The vectors that the cache lacks; they are added to it."""
    missing = embedded_texts.unique("text_hash", keep="first", maintain_order=True).filter(
        ~pl.col("text_hash").is_in(list(known_vectors))
    )
    if missing.is_empty():
        return {}
    hashes = missing["text_hash"].to_list()
    vectors = embedder.embed_documents(missing["text"].to_list())
    cache_embeddings(store, embedder.space, hashes, vectors)
    return dict(zip(hashes, vectors, strict=True))


@tag(stage="embed")
def chunk_embeddings(
    readable_chunks: pl.DataFrame,
    embedded_texts: pl.DataFrame,
    known_vectors: Vectors,
    embedder: Embedder,
) -> pl.DataFrame:
    """The chunks with the vectors that are known, frame CHUNKS; the others have null."""
    known = embedded_texts["text_hash"].is_in(list(known_vectors))
    matrix = np.zeros((readable_chunks.height, embedder.dimensions), np.float32)
    for row in known.arg_true():
        matrix[row] = known_vectors[embedded_texts["text_hash"][row]]
    vectors = pl.Series(matrix, dtype=pl.Array(pl.Float32, embedder.dimensions))
    embedding = pl.select(pl.when(known).then(vectors).alias("embedding"))
    return check(readable_chunks.hstack(embedding), CHUNKS, "chunk_embeddings")


@tag(stage="store")
def ledger_entries(
    documents_with_rights: pl.DataFrame,
    readable_chunks: pl.DataFrame,
    batch: list[Document],
    fingerprint: str,
) -> pl.DataFrame:
    """The documents with what the next run compares, and a ``note`` on how some were read."""
    why = pl.col("metadata").str.json_path_match(f"$.{CUT_BY_LINES}")
    again = pl.col("metadata").str.json_path_match(f"$.{CUT_AGAIN}").is_not_null()
    key = ["corpus", "repo", "document_id"]
    cut = readable_chunks.select(*key, cut=pl.format("cut by lines: {}", why), again=again)
    cut = cut.drop_nulls("cut").unique(key)
    unfinished = pl.lit(f"{fingerprint} {CUT_AGAIN}")  # the next run reads such a document again
    return (
        documents_with_rights.with_columns(
            pl.Series("content_hash", [content_hash(d) for d in batch], dtype=pl.String),
            pl.lit(fingerprint).alias("fingerprint"),
            pl.Series("note", [d.note for d in batch], dtype=pl.String),
        )
        .join(cut, on=key, how="left", maintain_order="left")
        .with_columns(
            fingerprint=pl.when("again").then(unfinished).otherwise("fingerprint"),
            note=pl.coalesce("note", "cut"),
        )
        .drop("cut", "again")
    )


@tag(stage="store", io="postgres")
def written(
    ledger_entries: pl.DataFrame, chunk_embeddings: pl.DataFrame, rights: Rights, store: Store
) -> Written:
    """What one transaction committed: documents, chunks, ledger rows and term counts."""
    return write_documents(store, ledger_entries, chunk_embeddings, rights.text)
