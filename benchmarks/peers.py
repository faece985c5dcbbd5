"""Fusion and hybrid search beside those of other libraries, in one run on the same inputs.

    python -m benchmarks.peers [fuse] [search] [--collection secp] [--queries 10000]
                               [--peers NAME ...]

The other libraries are installed, in pinned versions, into an environment of their own in the cache
folder; ``--peers`` without a name measures ours alone. ``fuse``: six lists of 100 for each of many
questions, fused by rank; CPU seconds of one run each, without making a library's own objects and
without a compiler's warm-up. What the peers return is the order of references to documents, with or
without scores; ours is timed for that (row numbers and scores), and for the whole frame that the
graph has next, with all columns. ``search``: BM25 and vectors over a judged collection's chunks and
vectors, fused as each library does it by default; nDCG@10 and the median time of a question,
without embedding it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.judged import NDCG, JudgedSet, document_run, judged_set, mean
from dataflow import build_driver, load_config
from operators.embedding.registry import load_embedder
from operators.frames import UNIFIED
from operators.postgres.store import open_store
from operators.ranking import fusion

PINNED = (
    "ranx==0.3.21",
    "langchain-classic==1.0.8",
    "langchain-community==0.4.2",
    "rank-bm25==0.2.2",
    "llama-index-core==0.14.25",
    "haystack-ai==3.4.0",
)
WORKER = Path(__file__).with_name("peers_worker.py")
CORPORA = ("code", "docs", "history", "issue", "review", "wiki")
DEPTH = 100
K_OF = {"ranx": 61, "langchain": 61, "llamaindex": 60, "haystack": 61}
"""What a library's k is where ranks begin at 0: most count them from 1."""
SEARCHING = {
    "langchain": "LangChain, EnsembleRetriever of BM25Retriever and a vector store",
    "haystack": "Haystack, pipeline of BM25 and embedding retriever, DocumentJoiner",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["fuse", "search"])
    parser.add_argument("--collection", default="secp")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--peers", nargs="*", default=list(K_OF), choices=list(K_OF))
    options = parser.parse_args()
    python = environment() if options.peers else Path()
    with tempfile.TemporaryDirectory() as folder:
        if "fuse" in options.what:
            compare_fusion(python, Path(folder), options.queries, options.peers)
        if "search" in options.what:
            compare_search(python, Path(folder), judged_set(options.collection), options.peers)


def environment() -> Path:
    """The Python of an environment that has the other libraries."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    home = cache / "crosscorpus-peers"
    python, mark = home / "bin" / "python", home / "installed"
    if not mark.exists() or mark.read_text() != "\n".join(PINNED):
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        install = [python, "-m", "pip", "install", "--quiet", *PINNED]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        mark.write_text("\n".join(PINNED))
    return python


def peer(python: Path, what: str, name: str, file: Path) -> dict[str, np.ndarray]:
    """What a worker found; in a process of its own, one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    command = [python, WORKER, what, name, file]
    done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    return dict(np.load(file.with_suffix(f".{name}.npz")))


def compare_fusion(python: Path, folder: Path, queries: int, peers: list[str]) -> None:
    print("| lists | fused by | CPU s | times ours | same order |")
    print("|---|---|---|---|---|")
    for shape, pool in (("six corpora, no chunk in two", None), ("six of one pool of 600", 600)):
        case = lists(queries, pool)
        file = folder / f"fuse{pool or ''}.npz"
        np.savez(file, **case)
        frame = as_frame(case)
        ours, seconds = timed(lambda part: fusion.rrf(part, rrf_k=61), frame)
        print(f"| {shape} | ours, `rrf` | {seconds:.2f} | 1 | |", flush=True)
        _, added = timed(fusion.comb_sum, frame)
        print(f"| {shape} | ours, `comb_sum` | {added:.2f} | | |", flush=True)
        for name in peers:
            result = peer(python, "fuse", name, file)
            same = agreement(result["ranked"], case["ids"], K_OF[name])
            took = float(result["seconds"])
            line = f"| {shape} | {name} | {took:.2f} | {took / seconds:.1f} | {same:.4f} |"
            print(line, flush=True)
        check = agreement(as_table(ours, queries), case["ids"], 61)
        print(f"| {shape} | ours against the formula | | | {check:.4f} |", flush=True)


def lists(queries: int, pool: int | None, seed: int = 7) -> dict[str, np.ndarray]:
    """``ids`` and falling ``score``, (queries, 6, 100) each; without a pool lists share nothing."""
    rng = np.random.default_rng(seed)
    shape = (queries, len(CORPORA), DEPTH)
    if pool:
        drawn = rng.random((queries, len(CORPORA), pool), dtype=np.float32)
        ids = np.argsort(drawn, axis=2)[:, :, :DEPTH]
    else:
        first = np.arange(len(CORPORA))[None, :, None] * 1_000
        ids = first + np.argsort(rng.random((queries, len(CORPORA), 1_000)), axis=2)[:, :, :DEPTH]
    score = -np.sort(-rng.uniform(0.1, 1.0, shape), axis=2)
    return {"ids": ids.astype(np.int64), "score": score}


def as_frame(case: dict[str, np.ndarray], seed: int = 8) -> pl.DataFrame:
    """The lists as the fusion takes them: ``UNIFIED``, corpus by corpus, texts and times null."""
    rng = np.random.default_rng(seed)
    ids, score = case["ids"], case["score"]
    queries = ids.shape[0]
    parts = []
    for at, corpus in enumerate(CORPORA):
        rank = np.tile(np.arange(DEPTH, dtype=np.uint32), queries)
        own = [np.argsort(rng.random((queries, DEPTH)), axis=1).ravel() for _ in range(2)]
        known = {
            "query_id": np.repeat(np.arange(queries, dtype=np.uint32), DEPTH),
            "chunk_id": ids[:, at].ravel(),
            "rank": rank,
            "vector_rank": own[0],
            "text_rank": own[1],
            "vector_distance": 1 - score[:, at].ravel(),
            "text_score": rng.permuted(score[:, at], axis=1).ravel() * 40,
            "corpus_score": score[:, at].ravel(),
            "recency": np.ones(len(rank)),
        }
        frame = pl.DataFrame(known).with_columns(
            alternate_sources=pl.lit([]),
            corpus=pl.lit(corpus),
            **{name: pl.lit("") for name in ("document_id", "repo")},
        )
        missing = [pl.lit(None).alias(name) for name in UNIFIED if name not in frame.columns]
        parts.append(frame.with_columns(missing).select([*UNIFIED, "recency"]).cast(dict(UNIFIED)))
    return pl.concat(parts, rechunk=True)


def timed(run: Callable[[pl.DataFrame], Any], frame: pl.DataFrame) -> Any:
    """What ``run`` gives for ``frame`` and its CPU seconds, once, as the peers run; it is warm."""
    run(frame.filter(pl.col("query_id") < 20))
    began = time.process_time()
    result = run(frame)
    return result, time.process_time() - began


def as_table(fused: pl.DataFrame, queries: int) -> np.ndarray:
    table = np.full((queries, len(CORPORA) * DEPTH), -1, np.int64)
    table[fused["query_id"].to_numpy(), fused["rank"].to_numpy()] = fused["chunk_id"].to_numpy()
    return table


def agreement(ranked: np.ndarray, ids: np.ndarray, k: float, sample: int = 200) -> float:
    """The share of questions whose order has falling sums of ``1 / (k + rank)``, and all chunks."""
    right = 0
    for row in range(min(sample, len(ids))):
        sums: dict[int, float] = {}
        for one in ids[row].tolist():
            for rank, chunk in enumerate(one):
                sums[chunk] = sums.get(chunk, 0.0) + 1 / (k + rank)
        order = [chunk for chunk in ranked[row].tolist() if chunk >= 0]
        scores = np.array([sums[chunk] for chunk in order])
        right += set(order) == set(sums) and bool((np.diff(scores) <= 1e-12).all())
    return right / min(sample, len(ids))


def compare_search(python: Path, folder: Path, judged: JudgedSet, peers: list[str]) -> None:
    config = load_config("default")
    embedder = load_embedder(config.embedding)
    with (
        open_store(collection=judged.name) as store,
        build_driver(config, judged.name, store=store, embedder=embedder) as driver,
    ):
        rows = store.run(
            lambda conn: conn.execute(
                "SELECT chunk_id, document_id, corpus, title, text, created_at, embedding::text"
                " FROM chunks ORDER BY corpus, chunk_id"
            ).fetchall()
        )
        batch = {"queries": judged.queries}
        vectors = driver.execute(["query_embeddings"], overrides=batch)["query_embeddings"]
        wanted = ["unique", "chunks"]
        took, runs = [], []
        for row in judged.queries.iter_slices(1):
            values = {
                "queries": row,
                "query_embeddings": vectors.join(row, on="query_id", how="semi"),
            }
            began = time.perf_counter()
            out = driver.execute(wanted, overrides=values)
            took.append(time.perf_counter() - began)
            chunks = out["chunks"].select("chunk_id", "document_id", "corpus")
            runs.append(document_run(out["unique"], chunks, judged))
    print(f"\n| {judged.name}, {len(rows)} chunks | nDCG@10 | ms a question |")
    print("|---|---|---|")
    run = pl.concat(runs)
    print(f"| ours, default | {mean(NDCG, run, judged.qrels):.3f} | {1000 * np.median(took):.0f} |")
    case = {
        "texts": np.array([f"{row[3] or ''}\n{row[4]}" for row in rows]),
        "vectors": np.array([json.loads(row[6]) for row in rows], np.float32),
        "questions": np.array([texts[0] for texts in judged.queries["texts"].to_list()]),
        "question_vectors": np.stack(vectors.sort("query_id")["embedding"].to_numpy()),
    }
    file = folder / "search.npz"
    np.savez(file, **case)
    chunks = pl.DataFrame(
        {
            "chunk_id": [row[0] for row in rows],
            "document_id": [row[1] for row in rows],
            "corpus": [row[2] for row in rows],
            "created_at": [row[5] for row in rows],
        },
        schema_overrides={"created_at": pl.Datetime("us", "UTC")},
    ).with_row_index("row")
    for name, label in SEARCHING.items():
        if name not in peers:
            continue
        answered = peer(python, "search", name, file)
        run = as_run(answered["ranked"], chunks, judged)
        value, seconds = mean(NDCG, run, judged.qrels), float(answered["seconds"])
        print(f"| {label} | {value:.3f} | {1000 * seconds:.0f} |", flush=True)


def as_run(ranked: np.ndarray, chunks: pl.DataFrame, judged: JudgedSet) -> pl.DataFrame:
    """A peer's rows as a run; corpora and times that a question excludes are left out, as in ours.

    The peers have no such filter, so that what they find beside it is lost to them.
    """
    query, rank = np.nonzero(ranked >= 0)
    ids = judged.queries["query_id"].to_numpy()
    hits = pl.DataFrame(
        {
            "query_id": ids[query].astype(np.uint32),
            "rank": rank.astype(np.uint32),
            "row": ranked[query, rank].astype(np.uint32),
        }
    )
    allowed = hits.join(chunks, on="row").join(
        judged.queries.select("query_id", "as_of", "corpora"), on="query_id"
    )
    allowed = allowed.filter(
        pl.col("corpora").is_null() | pl.col("corpora").list.contains(pl.col("corpus")),
        pl.col("as_of").is_null() | (pl.col("created_at") < pl.col("as_of")),
    ).sort("query_id", "rank")
    ranks = pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id")
    allowed = allowed.with_columns(rank=ranks)
    return document_run(allowed, chunks.select("chunk_id", "document_id", "corpus"), judged)


if __name__ == "__main__":
    main()
