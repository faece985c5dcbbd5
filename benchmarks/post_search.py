"""What everything after the searches costs: from the merge to the packed context.

    python -m benchmarks.post_search [--hits 50 200 1000] [--batch 1000] [--pool 20000]

Runs the real Hamilton graph with made-up search results: three corpora, two lists each, chunks of
about 120 words of which a tenth are near-copies of another, in the same corpus or in another one,
with vectors of 384 dimensions that are near each other where the texts are.
Prints the CPU time of the process (all threads), the best of several runs, graph overhead included.
For comparison, up to 200 hits: the same dedups as all pairs of Python sets. Result sets of a batch
come from one pool of chunks per corpus, as with a real collection; "distinct" has no chunk twice.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dataflow import load_config
from dataflow.driver.retrieval_driver import RetrievalDriver, build_graph
from operators.frames import NOTES, OUTCOMES, QUERIES, READ_CHUNKS, empty
from operators.postgres.store import CollectionInfo

Singles = NDArray[np.float32]

CORPORA = ("code", "review", "wiki")
WORDS = 120
NOW = datetime(2025, 6, 1, tzinfo=UTC)
DIMENSIONS = 384
LIMITS = {50: 10, 200: 30, 1000: 150}  # CPU ms, by hits of a list


def make_texts(count: int, rng: np.random.Generator) -> tuple[list[str], Singles]:
    """Texts of Zipf-distributed words; a tenth differ from another in up to four words.

    And their vectors: cosines of about .5 as those of one question's hits, .98 for near-copies.
    """
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = ["".join(rng.choice(letters, max(1, int(n)))) for n in rng.normal(6, 2.5, 20_000)]
    share = 1 / np.arange(3, len(vocabulary) + 3)
    drawn = rng.choice(len(vocabulary), (count, WORDS), p=share / share.sum())
    copies = rng.choice(count, count // 10, replace=False)
    originals = rng.integers(0, count, len(copies))
    drawn[copies] = drawn[originals]
    for _ in range(4):
        drawn[copies, rng.integers(0, WORDS, len(copies))] = rng.integers(0, 20_000, len(copies))
    vectors = rng.standard_normal((count, DIMENSIONS), np.float32)
    vectors += rng.standard_normal(DIMENSIONS, np.float32)
    vectors[copies] = vectors[originals]
    vectors[copies] += 0.25 * rng.standard_normal((len(copies), DIMENSIONS), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [" ".join([vocabulary[word] for word in words]) for words in drawn.tolist()], vectors


def make_chunks(corpus: str, texts: list[str], vectors: Singles, first: int) -> pl.DataFrame:
    count = len(texts)
    ids = np.arange(first, first + count)
    columns = {
        "chunk_id": ids,
        "document_id": [f"{corpus}-{number // 4}" for number in ids],
        "corpus": [corpus] * count,
        "repo": ["org/app"] * count,
        "ordinal": ids % 4,
        "text": texts,
        "title": [f"Page {number}" for number in ids],
        "path": [f"src/part_{number % 97}/file_{number}.py" for number in ids],
        "uri": [f"https://example.org/{corpus}/{number}" for number in ids],
        "start_line": ids % 900 + 1,
        "end_line": ids % 900 + 30,
        "created_at": [NOW - timedelta(days=int(number % 400)) for number in ids],
        "metadata": ['{"pr_number": 12}'] * count,
        "embedding": vectors,
    }
    missing = [pl.lit(None, dtype).alias(c) for c, dtype in READ_CHUNKS.items() if c not in columns]
    schema = {name: READ_CHUNKS[name] for name in columns}
    schema["embedding"] = pl.Array(pl.Float32, DIMENSIONS)
    return pl.DataFrame(columns, schema=schema).with_columns(missing).select(list(READ_CHUNKS))


def make_case(hits: int, queries: int, pool: int | None, seed: int = 7) -> dict[str, Any]:
    """Overrides of the graph's searches for so many queries; a pool of None has no chunk twice."""
    rng = np.random.default_rng(seed)
    reach = hits + hits // 2  # the two lists of a query share a third of their chunks
    size = pool or reach * queries
    texts, vectors = make_texts(size * len(CORPORA), rng)
    read: list[pl.DataFrame] = []
    overrides: dict[str, Any] = {}
    query_id = np.repeat(np.arange(queries, dtype=np.uint32), hits)
    rank = np.tile(np.arange(hits, dtype=np.uint32), queries)
    for number, corpus in enumerate(CORPORA):
        first, own = 1 + number * size, slice(number * size, (number + 1) * size)
        chunks = make_chunks(corpus, texts[own], vectors[own], first)
        if pool:
            drawn = np.stack([rng.choice(size, reach, replace=False) for _ in range(queries)])
        else:
            drawn = rng.permutation(size).reshape(queries, reach)
        drawn = drawn + first
        vector = rng.permuted(drawn[:, :hits], axis=1).ravel()
        text = rng.permuted(drawn[:, reach - hits :], axis=1).ravel()
        one = {"query_id": query_id, "text_no": np.zeros_like(query_id)}
        distance = np.sort(rng.uniform(0.2, 0.9, (queries, hits)), axis=1).ravel()
        score = -np.sort(-rng.gamma(3, 4, (queries, hits)), axis=1).ravel()
        near = {**one, "chunk_id": vector, "rank": rank, "distance": distance}
        overrides[f"{corpus}.vector_search"] = pl.DataFrame(near)
        words = {**one, "chunk_id": text, "rank": rank, "score": score}
        overrides[f"{corpus}.text_search"] = pl.DataFrame(words)
        used = np.unique(np.concatenate([vector, text])) - first
        read.append(chunks[used])
    overrides["read_chunks"] = {"chunks": pl.concat(read), "chunks_outcome": empty(OUTCOMES)}
    rows = [{"query_id": q, "texts": [f"question {q}"], "trigger": []} for q in range(queries)]
    overrides["queries"] = pl.DataFrame(rows, schema=QUERIES)
    for name in ("incomplete_corpora", "replica_lag", "files_changed_later"):
        overrides[name] = empty(NOTES)
    overrides["collections"] = {
        name: CollectionInfo(None, None, None, {name: 1}, {name: {"": 1}}) for name in CORPORA
    }
    return overrides


def make_driver() -> RetrievalDriver:
    config = load_config("default")
    change = {name: None for name in config.corpora if name not in CORPORA}
    config = config.with_changes({"corpora": change})
    embedder = SimpleNamespace(model="none", space="none", dimensions=1)
    store = SimpleNamespace(collection="made up", space="none")
    return RetrievalDriver(config, build_graph(config), {"store": store, "embedder": embedder})


def all_pairs(texts: list[str]) -> list[int]:
    """The straightforward dedup: each text against every one that was kept."""
    kept: list[tuple[int, set[str]]] = []
    for number, text in enumerate(texts):
        words = set(text.lower().split())
        for _, other in kept:
            if len(words & other) / len(words | other) >= 0.9:
                break
        else:
            kept.append((number, words))
    return [number for number, _ in kept]


def cpu_ms(run: Callable[[], object], repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return best * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hits", type=int, nargs="*", default=list(LIMITS), help="a list")
    parser.add_argument("--batch", type=int, default=1_000, help="questions at once, of 50 hits")
    parser.add_argument("--pool", type=int, default=20_000, help="chunks a corpus of a batch")
    args = parser.parse_args()
    wanted = ["results", "context_window", "citations", "notes"]
    with make_driver() as driver:
        print("one query, 3 corpora x 2 lists: CPU ms (limit) and all pairs of Python sets")
        inputs = {"query": "question 0"}
        for hits in args.hits:
            case = make_case(hits, 1, None)
            del case["queries"]  # one question comes as an input, not as a batch of one
            # the searches know already which versions it asks for
            case |= driver.execute(["version_scope"], inputs=inputs, overrides=case)

            def run(case: dict[str, Any] = case) -> Any:
                return driver.execute(wanted, inputs=inputs, overrides=case)

            run()
            spent = cpu_ms(run, 30 if hits < 1000 else 7)
            beside = ""
            if hits <= 200:
                read = case["read_chunks"]["chunks"]
                chunks = [read.filter(corpus=name)["text"] for name in CORPORA]

                def compare(chunks: list[pl.Series] = chunks) -> None:
                    kept = [[c[n] for n in all_pairs(c.to_list())] for c in chunks]
                    all_pairs([text for texts in kept for text in texts])

                naive = cpu_ms(compare, 1)
                beside = f"all pairs {naive:.0f}, {naive / spent:.0f} times as much"
            print(f"  {hits:5} hits  {spent:8.2f}  ({LIMITS.get(hits, '-')})   {beside}")
        print(f"batch of {args.batch:,} queries x 50 hits: CPU ms a query (limit 2)")
        for name, pool in ((f"{args.pool:,} chunks a corpus", args.pool), ("distinct", None)):
            case = make_case(50, args.batch, pool)
            driver.execute(wanted, overrides=case)
            spent = cpu_ms(lambda case=case: driver.execute(wanted, overrides=case), 3)
            print(f"  {name:24} {spent / args.batch:.3f}")


if __name__ == "__main__":
    main()
