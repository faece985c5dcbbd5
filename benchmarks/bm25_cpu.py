"""CPU of the database a BM25 query, and how far the candidate cap is from scoring everything.

    python -m benchmarks.bm25_cpu --chunks 200000 --queries 150

Chunks and queries are drawn from one Zipf vocabulary; a query is a passage of some chunk, half of
its words replaced. Compared at 10 results with bm25s over the same tokens. Uses the server that
CROSSCORPUS_DSN names, else the embedded one; the collection is dropped at the end.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
import psutil
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from operators.foundation.tokenizer import tokens
from operators.frames import CHUNKS, DOCUMENTS, QUERIES
from operators.postgres.connection import resolve_dsn
from operators.postgres.schema import indexes
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store, drop_collection, open_store, set_model
from operators.postgres.write.document_writer import write_documents

COLLECTION = "bench-bm25"
BATCH = 5_000
LETTERS = "bcdfghjklmnpqrtvwxz"  # no vowels: nothing that a stemmer would shorten


def word(number: int) -> str:
    letters = ""
    number += 1_000
    while number:
        number, rest = divmod(number, len(LETTERS))
        letters += LETTERS[rest]
    return letters


class Source:
    """Texts of a Zipf vocabulary, the same for the same seed."""

    def __init__(self, vocabulary: int, seed: int = 7) -> None:
        self.random = np.random.default_rng(seed)
        self.words = np.array([word(n) for n in range(vocabulary)])
        shares = 1 / (np.arange(vocabulary) + 2.7) ** 1.05
        self.cumulated = np.cumsum(shares / shares.sum())

    def draw(self, count: int) -> NDArray[np.str_]:
        """``count`` words, the frequent ones often."""
        return self.words[np.searchsorted(self.cumulated, self.random.random(count))]

    def texts(self, count: int) -> list[str]:
        """Chunks of about 120 words."""
        lengths = np.clip(self.random.lognormal(4.7, 0.4, count), 20, 250).astype(int)
        return [
            " ".join(part) for part in np.split(self.draw(lengths.sum()), lengths.cumsum()[:-1])
        ]

    def query(self, text: str, length: int) -> str:
        """A passage of ``text`` with half of its words replaced."""
        words = text.split()
        start = int(self.random.integers(0, max(1, len(words) - length)))
        passage = np.array(words[start : start + length])
        other = self.random.random(len(passage)) < 0.5
        passage[other] = self.draw(int(other.sum()))
        return " ".join(passage)


def load(store: Store, texts: list[str]) -> None:
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        known = pl.DataFrame(
            {
                "chunk_id": range(start, start + len(part)),
                "document_id": [f"d{n}" for n in range(start, start + len(part))],
                "text": part,
                "embedding": [[1.0, 2.0, 3.0]] * len(part),
            }
        ).with_columns(
            corpus=pl.lit("code"),
            repo=pl.lit("r"),
            ordinal=pl.lit(0),
        )
        chunks = known.select(
            (pl.col(name) if name in known.columns else pl.lit(None)).cast(dtype).alias(name)
            for name, dtype in CHUNKS.items()
        )
        documents = chunks.select(list(DOCUMENTS)).with_columns(
            content_hash=pl.lit(""), fingerprint=pl.lit("")
        )
        write_documents(store, documents, chunks)


def queries_of(texts: list[str]) -> pl.DataFrame:
    columns: dict[str, object] = {name: [None] * len(texts) for name in QUERIES}
    columns |= {"query_id": range(len(texts)), "texts": [[text] for text in texts]}
    return pl.DataFrame(columns, schema=QUERIES)


def reference(texts: list[str], asked: list[str], k: int) -> list[list[int]] | None:
    try:
        import bm25s
    except ImportError:
        return None
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(t, len(vocabulary)) for t in tokens(text)] for text in texts]
    model = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    model.index(bm25s.tokenization.Tokenized(ids=ids, vocab=vocabulary), show_progress=False)
    best = []
    for text in asked:
        scores = model.get_scores_from_ids([vocabulary[t] for t in tokens(text) if t in vocabulary])
        best.append(np.argsort(-scores, kind="stable")[:k].tolist())
    return best


def measure(
    store: Store, queries: pl.DataFrame, cap: int
) -> tuple[list[float], float, pl.DataFrame]:
    """Milliseconds of each query, CPU milliseconds of the backend a query, and the lists."""
    with store.pool.connection() as conn:
        backend = psutil.Process(conn.info.backend_pid)
    walls: list[float] = []
    lists: list[pl.DataFrame] = []
    for warm in (True, False):
        before = sum(backend.cpu_times()[:2])
        walls, lists = [], []
        for number in range(len(queries) if not warm else min(30, len(queries))):
            start = time.perf_counter()
            lists.append(
                bm25_search(store, "code", queries[number : number + 1], k=50, candidate_cap=cap)
            )
            walls.append((time.perf_counter() - start) * 1e3)
    cpu = (sum(backend.cpu_times()[:2]) - before) / len(queries) * 1e3
    return walls, cpu, pl.concat(lists)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--chunks", type=int, default=200_000)
    options.add_argument("--queries", type=int, default=150)
    options.add_argument("--words", type=int, default=30, help="words of a query")
    options.add_argument("--caps", type=int, nargs="+", default=[2_000, 5_000, 20_000])
    args = options.parse_args()
    console = Console()
    dsn = resolve_dsn()
    source = Source(vocabulary=200_000)
    texts = source.texts(args.chunks)
    chosen = source.random.integers(0, len(texts), args.queries)
    questions = [source.query(texts[n], args.words) for n in chosen]
    queries = queries_of(questions)
    with open_store(dsn, COLLECTION, create=True, max_size=1) as store:
        set_model(store, "none", "none", 3)
        start = time.perf_counter()
        load(store, texts)
        loaded = time.perf_counter() - start
        indexes.EXACT_SCAN_MAX_ROWS = len(texts)  # no vector is searched: it needs no index
        indexes.make_searchable(store)
        built = time.perf_counter() - start - loaded
        console.print(
            f"{len(texts):,} chunks: {len(texts) / loaded:,.0f} a second, indexes {built:.0f} s"
        )
        expected = reference(texts, questions, 10)
        table = Table("candidate cap", "p50 ms", "p95 ms", "CPU ms", "overlap@10 with bm25s")
        for cap in args.caps:
            walls, cpu, hits = measure(store, queries, cap)
            overlap = "-"
            if expected is not None:
                lists = hits.filter(pl.col("rank") < 10).group_by("query_id").agg("chunk_id")
                mine = dict(lists.iter_rows())
                shares = [
                    len(set(best) & set(mine.get(n, []))) / len(best)
                    for n, best in enumerate(expected)
                ]
                overlap = f"{np.mean(shares):.3f}"
            p50, p95 = np.percentile(walls, [50, 95])
            table.add_row(f"{cap:,}", f"{p50:.1f}", f"{p95:.1f}", f"{cpu:.1f}", overlap)
        console.print(table)
    drop_collection(dsn, COLLECTION)


if __name__ == "__main__":
    main()
