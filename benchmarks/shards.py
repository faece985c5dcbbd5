"""A collection in shards beside the same collection whole, on a Citus cluster.

    CROSSCORPUS_DSN=... python -m benchmarks.shards EXPORT [--chunks 300000] [--shards 8]

EXPORT is the folder of ``collections export``: its chunks are written again and again, with other
ids, a word more and vectors that are a little turned, until there are as many as wanted. A worker
is a process that waits for an embedding (``--wait`` ms a chunk, in place of a model, which would
need cores of its own) and writes. Questions are texts of chunks, each alone, by a warm driver.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dataflow import build_driver
from operators.frames import CHUNKS, DOCUMENTS
from operators.postgres.exchange.export_collection import export_collection
from operators.postgres.exchange.import_collection import import_collection
from operators.postgres.schema.indexes import build_indexes
from operators.postgres.store import collections, drop_collection, open_store, set_model
from operators.postgres.write.document_writer import write_documents

PARTS, WHOLE = "bench-parts", "bench-whole"
BATCH = 1_000
TURN = 0.3  # of a vector's length, in a random direction


class Known:
    """A model that has the vector of each question already."""

    model, space, max_tokens = "known", "known-1", 254

    def __init__(self, vectors: dict[str, Any], dimensions: int) -> None:
        self.vectors, self.dimensions = vectors, dimensions

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Words."""
        return [len(text.split()) for text in texts]

    def token_offsets(self, text: str) -> None:
        """None are known."""
        return

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """The known vectors."""
        return np.stack([self.vectors[text] for text in texts])

    embed_queries = embed_documents


def copy_of(chunks: pl.DataFrame, number: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The documents and chunks of copy ``number``."""
    vectors = np.stack(chunks["embedding"].to_list()).astype(np.float32)
    random = np.random.default_rng(number)
    vectors += random.normal(size=vectors.shape) * TURN / vectors.shape[1] ** 0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = chunks.with_columns(
        pl.col("chunk_id") + number,
        document_id=pl.format("{}/{}", pl.lit(number), "document_id"),
        text=pl.format("{} copy{}", "text", pl.lit(number)),
        state=pl.col("item_state"),
        embedding=pl.Series(vectors.tolist(), dtype=pl.List(pl.Float32)),
    )
    made = made.select(pl.col(name).cast(kind) for name, kind in CHUNKS.items())
    documents = made.unique(["corpus", "repo", "document_id"], keep="first", maintain_order=True)
    documents = documents.select(n for n in DOCUMENTS).with_columns(
        content_hash=pl.lit("x"), fingerprint=pl.lit("x")
    )
    return documents, made


def write(dsn: str, folder: str, numbers: list[int], wait_ms: float) -> None:
    """A worker: writes the copies ``numbers``, in batches of whole documents."""
    with open_store(dsn, PARTS) as store:
        for number in numbers:
            documents, chunks = copy_of(pl.read_parquet(folder), number)
            place = pl.int_range(documents.height) * BATCH // max(chunks.height, 1)
            keys = ["corpus", "repo", "document_id"]
            for part in documents.with_columns(place=place).partition_by("place"):
                own = chunks.join(part, on=keys, how="semi")
                time.sleep(own.height * wait_ms / 1000)
                write_documents(store, part.drop("place"), own)


def load(dsn: str, folder: str, numbers: list[int], workers: int, wait_ms: float) -> float:
    """Seconds in which so many workers write the copies ``numbers``."""
    start = time.perf_counter()
    shares = [numbers[n::workers] for n in range(workers)]
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=write, args=(dsn, folder, share, wait_ms)) for share in shares
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    return time.perf_counter() - start


def received(dsn: str, name: str, corpus: str, vector: list[float], k: int) -> int:
    """Bytes that the coordinator gets from the nodes for one vector search."""
    statement = (
        "EXPLAIN (ANALYZE, VERBOSE) SELECT chunk_id, embedding <=> %s::text::halfvec AS distance"
        " FROM chunks WHERE corpus = %s ORDER BY embedding <=> %s::text::halfvec LIMIT %s"
    )
    with open_store(dsn, name) as store, store.transaction() as conn:
        rows = conn.execute(statement, (str(vector), corpus, str(vector), k)).fetchall()
    plan = "\n".join(str(row[0]) for row in rows)
    found = re.search(r"Tuple data received from nodes: (\d+) (bytes|kB)", plan)
    return int(found[1]) * (1024 if found[2] == "kB" else 1) if found else 0


def main() -> None:
    """Load, index, ask; print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--chunks", type=int, default=300_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--wait", type=float, default=5.0, help="ms a chunk, for an embedding")
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    dsn, file = os.environ["CROSSCORPUS_DSN"], str(given.export / "chunks.parquet")
    base = pl.read_parquet(file)
    dimensions = len(base["embedding"][0])
    copies = max(1, round(given.chunks / base.height))
    for name in (PARTS, WHOLE):
        if name in collections(dsn):
            drop_collection(dsn, name)
    with open_store(dsn, PARTS, create=True, shards=given.shards) as store:
        set_model(store, "known", "known-1", dimensions)
    numbers = list(range(copies))
    for workers in (1, 2, 4):
        some, numbers = numbers[:workers], numbers[workers:]
        seconds = load(dsn, file, some, workers, given.wait)
        print(f"load, {workers} workers: {len(some) * base.height / seconds:.0f} chunks/s")
    load(dsn, file, numbers, 3, 0)
    start = time.perf_counter()
    with open_store(dsn, PARTS) as store:
        build_indexes(store)
        print(f"indexes of {given.shards} shards: {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        folder = Path(tempfile.mkdtemp()) / "export"
        export_collection(store, folder)
    print(f"export: {time.perf_counter() - start:.0f} s")
    start = time.perf_counter()
    import_collection(folder, dsn, name=WHOLE)
    print(f"import into a whole collection, with indexes: {time.perf_counter() - start:.0f} s")

    asked = base.sample(given.questions, seed=7)
    texts = [" ".join(text.split()[:12]) for text in asked["text"]]
    vectors = dict(zip(texts, np.stack(asked["embedding"].to_list()), strict=True))
    model = Known({k: v.astype(np.float32) for k, v in vectors.items()}, dimensions)
    corpus = base["corpus"].value_counts(sort=True)["corpus"][0]
    found: dict[str, list[pl.DataFrame]] = {}
    for name in (WHOLE, PARTS):
        with build_driver("default", name, dsn=dsn, embedder=model) as driver:
            for text in texts[:10]:
                driver.execute(["results"], {"query": text})
            spent = []
            for text in texts:
                start = time.perf_counter()
                out = driver.execute(["results", f"{corpus}.vector_hits"], {"query": text})
                spent.append(1000 * (time.perf_counter() - start))
                found.setdefault(name, []).append(out[f"{corpus}.vector_hits"])
        cuts = statistics.quantiles(spent, n=20)
        size = received(dsn, name, corpus, list(vectors[texts[0]]), 150)
        print(
            f"{name}: p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms; {size:,} bytes a vector search"
        )
    with build_driver("default", WHOLE, dsn=dsn, embedder=model) as driver:
        for name, lists in found.items():
            same = total = 0
            for text, hits in zip(texts[:30], lists, strict=False):
                given_exact = {"query": text, f"{corpus}.exact_scan_max_rows": 10**9}
                out = driver.execute([f"{corpus}.vector_hits"], given_exact)
                exact = out[f"{corpus}.vector_hits"]
                same += exact.join(hits, on="chunk_id", how="semi").height
                total += exact.height
            print(f"{name}: recall of the {corpus} vector list {same / total:.3f}")


if __name__ == "__main__":
    main()
