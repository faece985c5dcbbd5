"""Recall of filtered vector search, where a repo holds 10 %, 1 % or 0.1 % of a corpus.

    python -m benchmarks.filtered_recall --chunks 50000 [--real 2000]

Random clustered vectors, or with ``--real`` such as lie as those of so many chunks that `minilm`
embeds (`benchmarks.scale_source`); the truth is an exact scan. ``index alone`` is what a filtered
query on the vector index gives without any care, ``own`` the same by pgvector's iterative scan with
its own numbers, ``iterative`` the index scan that this package uses for large sets, ``shipped``
what it does by default. Uses the server that CROSSCORPUS_DSN names, else the embedded one; the
collection is dropped at the end.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.scale_source import Made, real_vectors
from operators.embedding.registry import load_embedder
from operators.foundation.data_dir import data_home
from operators.frames import CHUNKS, DOCUMENTS, QUERIES, QUERY_EMBEDDINGS, VECTOR_LISTS
from operators.postgres.connection import resolve_dsn
from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import Store, drop_collection, open_store, set_model
from operators.postgres.write.document_writer import write_documents

COLLECTION = "bench-recall"
BATCH = 5_000
K = 50
SHARES = {"10 %": 10, "1 %": 100, "0.1 %": 1_000}


def load(store: Store, vectors: NDArray[np.float32], repos: NDArray[np.str_]) -> None:
    for start in range(0, len(vectors), BATCH):
        part = slice(start, start + BATCH)
        numbers = range(start, start + len(vectors[part]))
        known = pl.DataFrame(
            {
                "chunk_id": numbers,
                "document_id": [f"d{n}" for n in numbers],
                "corpus": ["code"] * len(numbers),
                "repo": repos[part].tolist(),
                "ordinal": [0] * len(numbers),
                "text": [f"text {n}" for n in numbers],
                "embedding": vectors[part].tolist(),
            }
        )
        chunks = known.select(
            (pl.col(name) if name in known.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in CHUNKS.items()
        )
        documents = chunks.select(list(DOCUMENTS)).with_columns(
            content_hash=pl.lit(""), fingerprint=pl.lit("")
        )
        write_documents(store, documents, chunks)


def queries_of(repo: str | None, vectors: NDArray[np.float32]) -> tuple[pl.DataFrame, pl.DataFrame]:
    columns: dict[str, object] = {name: [None] * len(vectors) for name in QUERIES}
    columns |= {
        "query_id": range(len(vectors)),
        "texts": [[""]] * len(vectors),
        "repos": [None if repo is None else [repo]] * len(vectors),
    }
    embeddings = {
        "query_id": range(len(vectors)),
        "text_no": [0] * len(vectors),
        "text": [""] * len(vectors),
        "embedding": vectors.tolist(),
    }
    return pl.DataFrame(columns, schema=QUERIES), pl.DataFrame(embeddings, schema=QUERY_EMBEDDINGS)


BY_INDEX = {"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off"}
OWN = {"hnsw.iterative_scan": "relaxed_order"}


def as_it_comes(
    store: Store, queries: pl.DataFrame, embeddings: pl.DataFrame, *, settings: dict[str, str]
) -> pl.DataFrame:
    """The query that one writes first: filter, order by distance, limit."""
    rows = []
    with store.transaction(settings) as conn:
        for query_id, _, _, vector in embeddings.iter_rows():
            repos = queries["repos"][query_id]
            hits = conn.execute(
                "SELECT chunk_id, embedding <=> %(v)s::halfvec AS distance FROM chunks"
                " WHERE corpus = 'code' AND (%(r)s::text[] IS NULL OR repo = ANY(%(r)s))"
                " ORDER BY distance LIMIT %(k)s",
                {"v": str(vector), "r": None if repos is None else repos.to_list(), "k": K},
            )
            rows += [(query_id, 0, *row, n) for n, row in enumerate(hits)]
    columns = ["query_id", "text_no", "chunk_id", "distance", "rank"]
    return pl.DataFrame(rows, schema={c: VECTOR_LISTS[c] for c in columns}, orient="row")


Search = Callable[[Store, pl.DataFrame, pl.DataFrame], pl.DataFrame]


def shipped(store: Store, queries: pl.DataFrame, embeddings: pl.DataFrame) -> pl.DataFrame:
    return search_vectors(store, "code", queries, embeddings, k=K)


def iterative(store: Store, queries: pl.DataFrame, embeddings: pl.DataFrame) -> pl.DataFrame:
    return search_vectors(store, "code", queries, embeddings, k=K, exact_scan_max_rows=1)


WAYS: dict[str, Search] = {
    "index alone": partial(as_it_comes, settings=BY_INDEX),
    "own": partial(as_it_comes, settings=OWN),
    "iterative": iterative,
    "shipped": shipped,
}


def drawn(made: Made, random: np.random.Generator, count: int) -> NDArray[np.float32]:
    """So many vectors of ``made``."""
    return np.stack([made.vector(random) for _ in range(count)])


def measure(
    store: Store, search: Search, repo: str | None, vectors: NDArray[np.float32]
) -> tuple[pl.DataFrame, list[float]]:
    lists, walls = [], []
    for vector in vectors:
        start = time.perf_counter()
        lists.append(search(store, *queries_of(repo, vector[None])))
        walls.append((time.perf_counter() - start) * 1e3)
    return pl.concat(
        one.with_columns(query_id=pl.lit(n, pl.UInt32)) for n, one in enumerate(lists)
    ), walls


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=50_000)
    options.add_argument("--queries", type=int, default=50)
    options.add_argument("--dimensions", type=int, default=384)
    options.add_argument("--real", type=int, default=0, help="chunks that minilm embeds")
    args = options.parse_args()
    random = np.random.default_rng(42)
    centres = random.normal(size=(200, args.dimensions))

    def clustered(count: int) -> NDArray[np.float32]:
        noise = random.normal(size=(count, args.dimensions))
        return (centres[random.integers(0, len(centres), count)] + noise).astype(np.float32)

    draw: Callable[[int], NDArray[np.float32]] = clustered
    if args.real:
        tokens = load_embedder("minilm")
        like = real_vectors(tokens, args.real, data_home() / "scale" / f"minilm-{args.real}.npy")
        made, args.dimensions = Made(like, tokens), like.shape[1]
        draw = partial(drawn, made, random)

    repos = np.full(args.chunks, "rest", dtype="<U8")
    free = random.permutation(args.chunks)
    for name, part in SHARES.items():
        repos[free[: args.chunks // part]] = name
        free = free[args.chunks // part :]
    console, dsn = Console(), resolve_dsn()
    vectors, stored = draw(args.queries), draw(args.chunks)
    with open_store(dsn, COLLECTION, create=True) as store:
        set_model(store, "none", "none", args.dimensions)
        start = time.perf_counter()
        load(store, stored, repos)
        loaded = time.perf_counter() - start
        make_searchable(store)
        built = time.perf_counter() - start - loaded
        console.print(
            f"{args.chunks:,} chunks: {args.chunks / loaded:,.0f} a second, indexes {built:.0f} s"
        )
        table = Table("filter", "way", "recall@50", "fewest rows", "p50 ms", "p95 ms")
        for repo in (None, *SHARES):
            exact = search_vectors(
                store, "code", *queries_of(repo, vectors), k=K, exact_scan_max_rows=args.chunks
            )
            true = dict(exact.group_by("query_id").agg("chunk_id").iter_rows())
            for name, search in WAYS.items():
                hits, walls = measure(store, search, repo, vectors)
                mine = dict(hits.group_by("query_id").agg("chunk_id").iter_rows())
                shares = [
                    len(set(ids) & set(mine.get(n, []))) / len(ids) for n, ids in true.items()
                ]
                fewest = min(len(mine.get(n, [])) for n in true)
                p50, p95 = np.percentile(walls, [50, 95])
                table.add_row(
                    repo or "none",
                    name,
                    f"{np.mean(shares):.3f}",
                    f"{fewest} of {min(map(len, true.values()))}",
                    f"{p50:.1f}",
                    f"{p95:.1f}",
                )
        console.print(table)
    drop_collection(dsn, COLLECTION)


if __name__ == "__main__":
    main()
