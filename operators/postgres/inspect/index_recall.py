"""The recall of the vector index against an exact scan, on the collection's own vectors."""

import polars as pl

from operators.frames import QUERIES
from operators.postgres.search.chunk_reader import Wanted, fetch_chunks
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import Store, collection_info

SAMPLE_CHARACTERS = 200


def index_recall(store: Store, corpus: str, *, samples: int = 20, k: int = 10) -> float | None:
    """Mean recall@``k`` of the index against an exact scan, or None for a corpus without vectors.

    The queries are ``samples`` of the corpus's own chunk vectors, always the same ones: chunk ids
    are hashes, so the lowest are a random sample. A chunk as near as the last exact one is a hit.
    """
    rows = store.rows(
        "SELECT chunk_id FROM chunks WHERE corpus = %s AND embedding IS NOT NULL"
        " ORDER BY chunk_id LIMIT %s",
        (corpus, samples),
    )
    ids = [int(row[0]) for row in rows]
    if not ids:
        return None
    every = [{"query_id": number, "version_policy": "all"} for number in range(len(ids))]
    queries = pl.DataFrame(every, schema=QUERIES)
    chunks = fetch_chunks(store, [Wanted(corpus, pl.Series(ids, dtype=pl.Int64), queries)])
    embeddings = chunks.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("query_id"),
        pl.lit(0, pl.UInt32).alias("text_no"),
        pl.lit("").alias("text"),
        "embedding",
    )
    size = collection_info(store).corpora.get(corpus, 0)
    exact = search_vectors(store, corpus, queries, embeddings, k=k, exact_scan_max_rows=size)
    hits = search_vectors(store, corpus, queries, embeddings, k=k, exact_scan_max_rows=0)
    reach = exact.group_by("query_id").agg(pl.col("distance").max().alias("reach"))
    near = hits.join(reach, on="query_id").filter(pl.col("distance") <= pl.col("reach") + 1e-6)
    return near.height / exact.height if exact.height else 0.0


def sample_text(store: Store, corpus: str) -> str:
    """The beginning of one chunk's text, always the same; empty if no chunk has a word."""
    row = store.row(
        r"SELECT left(regexp_replace(text, '^\s+', ''), %s) FROM chunks"
        r" WHERE corpus = %s AND text ~ '\w' ORDER BY chunk_id LIMIT 1",
        (SAMPLE_CHARACTERS, corpus),
    )
    return str(row[0]) if row else ""
