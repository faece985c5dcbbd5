"""A collection in shards beside the same collection whole, on a Citus cluster.

    CROSSCORPUS_DSN=... python -m benchmarks.shards EXPORT [--copies 10] [--shards 8]

With ``--shards 0`` the whole collection is measured alone, which any server can.

EXPORT is the folder of ``collections export``. Its chunks become many: each copy has other ids and
vectors that are a little turned. They are imported twice. Questions are texts of chunks, each
alone, by a warm driver. For the rate of loading, workers write the first copy anew: a worker is a
process that waits for an embedding (``--wait`` ms a chunk, in place of a model, which would need
cores of its own) and writes.
"""

from __future__ import annotations

import argparse
import json
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
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dataflow import build_driver
from operators.frames import CHUNKS, DOCUMENTS
from operators.postgres.exchange.import_collection import import_collection
from operators.postgres.store import collections, drop_collection, open_store, set_model
from operators.postgres.write.document_writer import document_key, write_documents

PARTS, WHOLE, LOAD = "bench-parts", "bench-whole", "bench-load"
KEYS = ["corpus", "repo", "document_id"]
BATCH, LOADED = 100, 2_000  # documents
TURN = 0.3  # of a vector's length, in a random direction


class Known:
    """A model that has the vector of each question already."""

    max_tokens = 254

    def __init__(self, vectors: dict[str, Any], export: Path) -> None:
        known = json.loads((export / "collection.json").read_text())
        self.vectors, self.model, self.space = vectors, known["model"], known["space"]
        self.dimensions = known["dimensions"]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Words."""
        return [len(text.split()) for text in texts]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        """The known vectors."""
        return np.stack([self.vectors[text] for text in texts])

    embed_queries = embed_documents


def turned(vectors: pa.Array, number: int) -> pa.Array:
    """The vectors of copy ``number``."""
    flat = vectors.flatten().to_numpy().astype(np.float32).reshape(len(vectors), -1)
    random = np.random.default_rng(number)
    flat += random.normal(size=flat.shape) * TURN / flat.shape[1] ** 0.5
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    return pa.FixedSizeListArray.from_arrays(
        pa.array(flat.astype(np.float16).ravel()), flat.shape[1]
    )


def enlarged(export: Path, folder: Path, copies: int) -> Path:
    """An export of so many copies of ``export``, without its versions."""
    folder.mkdir()
    for name in ("chunks", "documents", "postings"):
        source = pq.ParquetFile(export / f"{name}.parquet")
        with pq.ParquetWriter(folder / f"{name}.parquet", source.schema_arrow) as writer:
            for number in range(copies):
                for at, rows in enumerate(source.iter_batches(4_000)):
                    columns = {n: rows.column(n) for n in rows.schema.names}
                    if "chunk_id" in columns:
                        columns["chunk_id"] = pc.add(columns["chunk_id"], number)
                    if "repo" in columns:  # its name is no word of a passage, as an id is
                        repos = pc.cast(columns["repo"], pa.string())
                        columns["repo"] = pc.binary_join_element_wise(str(number), repos, "/")
                    if "document_key" in columns:
                        named = zip(*(columns[key].to_pylist() for key in KEYS), strict=True)
                        keys = [document_key(*name).bytes for name in named]
                        columns["document_key"] = pa.array(keys, pa.binary(16))
                    if "embedding" in columns:
                        columns["embedding"] = turned(columns["embedding"], 1000 * number + at)
                    writer.write_batch(pa.record_batch(columns, source.schema_arrow))
    held = pl.read_parquet(export / "repos.parquet")
    repos = pl.concat(
        held.with_columns(repo=pl.format("{}/{}", pl.lit(n), "repo")) for n in range(copies)
    )
    for name, counts in (
        ("corpora", ("chunks", "total_length")),
        ("repos", ()),
        ("terms", ("df",)),
    ):
        table = repos if name == "repos" else pl.read_parquet(export / f"{name}.parquet")
        multiplied = table.with_columns(pl.col(*counts) * copies if counts else []).to_arrow()
        schema = pq.read_schema(export / f"{name}.parquet")
        pq.write_table(multiplied.cast(schema), folder / f"{name}.parquet")
    for path in export.glob("*.parquet"):
        if not (folder / path.name).exists():
            pq.write_table(pq.read_schema(path).empty_table(), folder / path.name)
    manifest = json.loads((export / "collection.json").read_text())
    known = {path.stem: pq.read_metadata(path).num_rows for path in folder.glob("*.parquet")}
    manifest["rows"] = known
    (folder / "collection.json").write_text(json.dumps(manifest))
    return folder


def frames(export: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The documents and chunks of ``export``, to be written again."""
    made = pl.read_parquet(export / "chunks.parquet").with_columns(
        state=pl.col("item_state"), embedding=pl.col("embedding").arr.to_list()
    )
    made = made.select(pl.col(name).cast(kind) for name, kind in CHUNKS.items())
    documents = made.unique(KEYS, keep="first", maintain_order=True).select(*DOCUMENTS)
    return documents.with_columns(content_hash=pl.lit("x"), fingerprint=pl.lit("x")), made


def write(dsn: str, export: Path, share: tuple[int, int], wait_ms: float) -> None:
    """A worker: writes its share of the documents, some hundred chunks at once."""
    documents, chunks = frames(export)
    own = documents[:LOADED][share[0] :: share[1]]
    with open_store(dsn, LOAD) as store:
        for first in range(0, own.height, BATCH):
            part = own[first : first + BATCH]
            rows = chunks.join(part, on=KEYS, how="semi")
            time.sleep(rows.height * wait_ms / 1000)
            write_documents(store, part, rows)


def load(dsn: str, export: Path, workers: int, shards: int | None, wait_ms: float) -> float:
    """Chunks a second that so many workers write."""
    space = json.loads((export / "collection.json").read_text())
    with open_store(dsn, LOAD, create=True, shards=shards) as store:
        set_model(store, space["model"], space["space"], space["dimensions"])
    context = multiprocessing.get_context("spawn")
    begun, shares = time.perf_counter(), [(n, workers) for n in range(workers)]
    calls = [(dsn, export, share, wait_ms) for share in shares]
    processes = [context.Process(target=write, args=one) for one in calls]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    seconds = time.perf_counter() - begun
    with open_store(dsn, LOAD) as store:
        ((count,),) = store.rows("SELECT count(*) FROM chunks")
    drop_collection(dsn, LOAD)
    return float(count) / seconds


def received(dsn: str, name: str, corpus: str, vector: list[float], k: int) -> int:
    """Bytes that the coordinator gets from the nodes for one vector search."""
    statement = (
        "EXPLAIN (ANALYZE, VERBOSE) SELECT chunk_id, embedding <=> %s::text::halfvec AS distance"
        " FROM chunks WHERE corpus = %s ORDER BY embedding <=> %s::text::halfvec LIMIT %s"
    )
    with open_store(dsn, name) as store, store.transaction() as conn:
        rows = conn.execute(statement, (str(vector), corpus, str(vector), k)).fetchall()
    plan = "\n".join(str(row[0]) for row in rows)
    match = re.search(r"Tuple data received from nodes: (\d+) (bytes|kB)", plan)
    return int(match[1]) * (1024 if match[2] == "kB" else 1) if match else 0


def main() -> None:
    """Load, index, ask; print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--copies", type=int, default=10)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--wait", type=float, default=5.0, help="ms a chunk, for an embedding")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4], help="that load")
    parser.add_argument("--questions", type=int, default=100)
    args = parser.parse_args()
    dsn = os.environ["CROSSCORPUS_DSN"]
    for name in {PARTS, WHOLE, LOAD} & set(collections(dsn)):
        drop_collection(dsn, name)
    ways = {WHOLE: None} | ({PARTS: args.shards} if args.shards else {})
    for workers in args.workers:
        for name, shards in ways.items():
            rate = load(dsn, args.export, workers, shards, args.wait)
            print(f"load as {name}, {workers} workers: {rate:.0f} chunks/s")
    with tempfile.TemporaryDirectory() as temporary:
        folder = enlarged(args.export, Path(temporary) / "export", args.copies)
        for name, shards in ways.items():
            start = time.perf_counter()
            import_collection(folder, dsn, name=name, shards=shards)
            print(f"import {name}, with indexes: {time.perf_counter() - start:.0f} s", flush=True)

    base = pl.read_parquet(args.export / "chunks.parquet")
    sample = base.sample(args.questions, seed=7)
    texts = [" ".join(text.split()[:12]) for text in sample["text"]]
    vectors = dict(zip(texts, np.stack(sample["embedding"].to_list()), strict=True))
    model = Known({k: v.astype(np.float32) for k, v in vectors.items()}, args.export)
    corpus = base["corpus"].value_counts(sort=True)["corpus"][0]
    lists_of: dict[str, list[pl.DataFrame]] = {}
    for name in ways:
        with build_driver("default", name, dsn=dsn, embedder=model) as driver:
            for text in texts[:10]:
                driver.execute(["results"], {"query": text})
            spent = []
            for text in texts:
                start = time.perf_counter()
                out = driver.execute(["results", "vector_hits"], {"query": text})
                spent.append(1000 * (time.perf_counter() - start))
                lists_of.setdefault(name, []).append(out["vector_hits"].filter(corpus=corpus))
        cuts = statistics.quantiles(spent, n=20)
        size = received(dsn, name, corpus, vectors[texts[0]].tolist(), 150)
        print(
            f"{name}: p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms; {size:,} bytes a vector search"
        )
    with build_driver("default", WHOLE, dsn=dsn, embedder=model) as driver:
        for name, lists in lists_of.items():
            same = total = 0
            for text, hits in zip(texts[:30], lists, strict=False):
                exact_inputs = {"query": text, f"{corpus}.exact_scan_max_rows": 10**9}
                out = driver.execute(["vector_hits"], exact_inputs)
                exact = out["vector_hits"].filter(corpus=corpus)
                same += exact.join(hits, on="chunk_id", how="semi").height
                total += exact.height
            print(f"{name}: recall of the {corpus} vector list {same / total:.3f}")


if __name__ == "__main__":
    main()
