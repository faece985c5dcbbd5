"""A collection of 10,000 chunks to a million: what it takes, and what it finds.

    python -m benchmarks.scale 10000 100000 [--keep] [--queries 100]

Four corpora with words of the judged sets and vectors that lie as `minilm`'s do
(`benchmarks.scale_source`), loaded by the real ingestion; vectors are made in the place of a model.
A collection that is there is used, and one that is half loaded goes on; ``--keep`` leaves it there.
Questions are judged ones: a search is asked of one corpus in turn, a whole question of all. An
exact list is that of a scan of everything. ``own`` is pgvector's iterative scan as it comes: the
filter, the order, a limit. CPU is that of the server, for one search. Uses the server that
CROSSCORPUS_DSN names, else the embedded one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import psutil
import psycopg

from benchmarks.scale_source import (
    CORPORA,
    RANKS,
    SHARES,
    Made,
    changed,
    characters_a_chunk,
    distances,
    judged_questions,
    made_document,
    made_documents,
    real_vectors,
)
from dataflow import build_driver, load_config
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.run import Progress
from operators.embedding.registry import load_embedder
from operators.foundation.data_dir import data_home
from operators.frames import QUERIES, QUERY_EMBEDDINGS
from operators.postgres.connection import resolve_dsn
from operators.postgres.inspect.verify import verify
from operators.postgres.inspect.version_topics import lineage_named, topics
from operators.postgres.schema import indexes
from operators.postgres.search.text_search import bm25_search
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import Store, collections, drop_collection, open_store
from operators.sources.jsonl import documents_source

K, BEST = 50, 10
EVERYTHING = 10**9
MIB = 2**20
PROGRESS_S = 10.0
"""Between two lines of progress."""
SAMPLED_S = 0.2
WARM = 5  # questions
WANTED = ["results", "context_window", "citations", "notes"]
Figures = dict[str, str]
Search = Callable[[Store, str, pl.DataFrame, pl.DataFrame], pl.DataFrame]

_SIZES = """
    SELECT CASE WHEN right(relname, 6) = '__hnsw' THEN 'HNSW'
        WHEN right(relname, 7) = '__terms' THEN 'GIN' WHEN relkind = 'i' THEN 'other indexes'
        WHEN relname ~ '^(chunks|postings)_' THEN split_part(relname, '_', 1)
        WHEN relname = 'embedding_cache' THEN 'cache of vectors' ELSE 'other tables' END,
        sum(CASE WHEN relkind = 'i' THEN pg_relation_size(oid) ELSE pg_table_size(oid) END)
    FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = to_regnamespace(quote_ident(%s))
    GROUP BY 1
"""


@dataclass
class Step:
    """What one step takes."""

    seconds: float = 0.0
    client_mib: float = 0.0  # by which this process grew at most
    server_mib: float = 0.0  # the most memory of the server's processes, shared memory apart
    builds: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # seconds


def server_processes(dsn: str) -> list[psutil.Process]:
    """The processes of the server, where it runs on this machine."""
    with contextlib.suppress(psycopg.Error, psutil.Error), psycopg.connect(dsn) as conn:
        parent = psutil.Process(conn.info.backend_pid).parent()
        return [] if parent is None else parent.children()
    return []


def private(process: psutil.Process) -> float:
    """MiB of a process that it does not share."""
    with contextlib.suppress(psutil.Error):
        memory = process.memory_info()
        return float(memory.rss - memory.shared) / MIB
    return 0.0


@contextlib.contextmanager
def step(dsn: str) -> Iterator[Step]:
    """Time and memory of a block, and the seconds of each index build in it."""
    taken, own, ended = Step(), psutil.Process(), threading.Event()
    began, before = time.perf_counter(), private(own)
    build = indexes.build_index

    def look() -> None:
        while not ended.wait(SAMPLED_S):
            taken.client_mib = max(taken.client_mib, private(own) - before)
            held = sum(map(private, server_processes(dsn)))
            taken.server_mib = max(taken.server_mib, held)

    def timed(store: Store, name: str, *more: Any, **options: Any) -> None:
        start = time.perf_counter()
        build(store, name, *more, **options)
        taken.builds[name.rpartition("__")[2]] += time.perf_counter() - start

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    indexes.build_index = timed
    try:
        yield taken
    finally:
        indexes.build_index = build
        taken.seconds = time.perf_counter() - began
        ended.set()
        looking.join()


def progress(name: str) -> Callable[[Progress], None]:
    """Prints now and then how far an ingestion is, with the time left."""
    last = 0.0

    def show(event: Progress) -> None:
        nonlocal last
        if time.monotonic() - last > PROGRESS_S:
            last = time.monotonic()
            left = "" if event.eta_s is None else f", {event.eta_s:.0f} s left"
            print(
                f"{name}: {event.stage} {event.fraction:.0%}, {event.chunks:,} chunks,"
                f" {event.embedded:,} vectors in {event.seconds:.0f} s{left}",
                flush=True,
            )

    return show


def write_source(path: Path, size: int, characters: float) -> None:
    """Write the documents of about ``size`` chunks as lines of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w") as out:
        for made in made_documents(int(size * characters / len(CORPORA))):
            out.write(json.dumps(made) + "\n")
    part.rename(path)


def load(store: Store, made: Made, path: Path, name: str) -> Figures:
    """Ingest ``path``; goes on where an earlier run was stopped."""
    with step(store.dsn) as taken:
        report = ingest(store, made, documents_source(path), on_event=progress(name))
    assert report.ok, report.failed[0]
    gin, hnsw = taken.builds["terms"], taken.builds["hnsw"]
    words = max(report.words_seconds - gin, 1e-9)
    vectors = max(report.embedding_seconds - hnsw, 0.0)
    return {
        "load for words, without index": f"{words:.0f} s, {report.chunks / words:,.0f} chunks/s",
        "index of words (GIN)": f"{gin:.1f} s",
        "store vectors, without a model's time": f"{vectors:.0f} s",
        "index of vectors (HNSW)": f"{hnsw:.1f} s",
        "memory of loading": memory(taken),
    }


def memory(taken: Step) -> str:
    """How much more this process took, and what the server's took."""
    return f"+{taken.client_mib:.0f} MB, server {taken.server_mib:.0f} MB"


def sizes(store: Store) -> Figures:
    """Disk, by kind of table and index."""
    held = {kind: float(size) / MIB for kind, size in store.rows(_SIZES, (store.schema,))}
    names = ["chunks", "postings", "cache of vectors", "other tables", "GIN", "HNSW"]
    return {"disk": f"{sum(held.values()):,.0f} MB"} | {
        f"of it {name}": f"{held.get(name, 0.0):,.0f} MB" for name in [*names, "other indexes"]
    }


def queries_of(text: str, vector: Any, repo: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One question, as the searches take it."""
    columns: dict[str, Any] = {name: [None] for name in QUERIES} | {
        "query_id": [0],
        "texts": [[text]],
        "repos": [None if repo is None else [repo]],
        "version_policy": ["all"],
    }
    embeddings = {"query_id": [0], "text_no": [0], "text": [""], "embedding": [vector.tolist()]}
    return pl.DataFrame(columns, schema=QUERIES), pl.DataFrame(embeddings, schema=QUERY_EMBEDDINGS)


def own_scan(store: Store, corpus: str, queries: pl.DataFrame, vectors: pl.DataFrame) -> Any:
    """pgvector's iterative scan, all its numbers as they come."""
    repos = queries["repos"][0]
    with store.transaction({"hnsw.iterative_scan": "relaxed_order"}) as conn:
        rows = conn.execute(
            "SELECT chunk_id FROM chunks WHERE corpus = %(c)s"
            + ("" if repos is None else " AND repo = ANY(%(r)s)")
            + " ORDER BY embedding <=> %(v)s::halfvec LIMIT %(k)s",
            {
                "v": str(vectors["embedding"][0].to_list()),
                "c": corpus,
                "r": None if repos is None else repos.to_list(),
                "k": K,
            },
        ).fetchall()
    return pl.DataFrame({"chunk_id": [row[0] for row in rows]}, schema={"chunk_id": pl.Int64})


def by_vector(store: Store, corpus: str, queries: pl.DataFrame, vectors: pl.DataFrame) -> Any:
    """The search as it is shipped."""
    return search_vectors(store, corpus, queries, vectors, k=K)


def by_words(store: Store, corpus: str, queries: pl.DataFrame, _: pl.DataFrame) -> Any:
    """The search as it is shipped."""
    return bm25_search(store, corpus, queries, k=K)


def every_vector(store: Store, corpus: str, queries: pl.DataFrame, vectors: pl.DataFrame) -> Any:
    """The exact list."""
    return search_vectors(store, corpus, queries, vectors, k=K, exact_scan_max_rows=EVERYTHING)


def every_word(store: Store, corpus: str, queries: pl.DataFrame, _: pl.DataFrame) -> Any:
    """The exact list."""
    return bm25_search(store, corpus, queries, k=K, candidate_cap=EVERYTHING)


def asked(
    store: Store, search: Search, texts: Sequence[str], vectors: Any, repo: str | None
) -> tuple[list[list[int]], list[float], float]:
    """The lists of all questions, each of one corpus; their milliseconds; and CPU of the server."""
    with store.pool.connection() as conn:
        backend = psutil.Process(conn.info.backend_pid)
    lists, walls, before = list[list[int]](), list[float](), 0.0
    for number in [*range(min(WARM, len(texts))), *range(len(texts))]:
        if number == 0:  # the first time to get warm
            lists, walls, before = [], [], sum(backend.cpu_times()[:2])
        queries, embedded = queries_of(texts[number], vectors[number], repo)
        start = time.perf_counter()
        hits = search(store, CORPORA[number % len(CORPORA)], queries, embedded)
        walls.append((time.perf_counter() - start) * 1e3)
        lists.append(hits["chunk_id"].to_list())
    return lists, walls, (sum(backend.cpu_times()[:2]) - before) / len(lists) * 1e3


def spread(walls: Sequence[float]) -> str:
    """The median and the 95th of a hundred, in milliseconds."""
    return "{:.1f} / {:.1f} ms".format(*np.percentile(walls, [50, 95]))


def share(exact: Sequence[list[int]], found: Sequence[list[int]], k: int) -> float:
    """The mean share of the exact first ``k`` that were found among the first ``k``."""
    pairs = [(set(one[:k]), set(other[:k])) for one, other in zip(exact, found, strict=True) if one]
    return float(np.mean([len(one & other) / len(one) for one, other in pairs] or [1.0]))


def searches(store: Store, texts: Sequence[str], vectors: Any) -> Figures:
    """Recall, time and CPU of each search beside the exact one."""
    figures: Figures = {}
    for repo in (None, *reversed(SHARES)):
        exact, walls, cpu = asked(store, every_vector, texts, vectors, repo)
        of = "all" if repo is None else repo
        if repo is None:
            figures["vectors, all: exact"] = f"{spread(walls)}, CPU {cpu:.1f}"
        both: dict[str, Search] = {"": by_vector, ", own": own_scan}
        for name, search in both.items():
            lists, walls, cpu = asked(store, search, texts, vectors, repo)
            recall = share(exact, lists, K)
            figures[f"vectors, {of}{name}"] = f"{recall:.3f}, {spread(walls)}, CPU {cpu:.1f}"
    exact, walls, cpu = asked(store, every_word, texts, vectors, None)
    figures["BM25: exact"] = f"{spread(walls)}, CPU {cpu:.1f}"
    lists, walls, cpu = asked(store, by_words, texts, vectors, None)
    figures["BM25"] = f"{share(exact, lists, BEST):.3f}, {spread(walls)}, CPU {cpu:.1f}"
    return figures


def questions(store: Store, made: Made, name: str, texts: Sequence[str]) -> Figures:
    """Whole questions over all corpora."""
    walls, slowest = list[float](), list[float]()
    driver = build_driver(load_config("default"), name, store=store, embedder=made)
    with driver, step(store.dsn) as taken:
        for number, text in enumerate([*texts[:WARM], *texts]):
            timings: dict[str, float] = {}
            start = time.perf_counter()
            driver.execute(WANTED, inputs={"query": text, "timings": timings})
            if number >= min(WARM, len(texts)):
                walls.append((time.perf_counter() - start) * 1e3)
                slowest.append(max(ms for of, ms in timings.items() if of.endswith("_search")))
    return {
        "a question": spread(walls),
        "its slowest search": spread(slowest),
        "memory of questions": memory(taken),
    }


def upkeep(store: Store, made: Made, path: Path, folder: Path, changes: int) -> Figures:
    """The same source again, a changed document, verify and version lists."""
    start = time.perf_counter()
    documents = sum(1 for _ in documents_source(path).scan())
    scan = time.perf_counter() - start
    with step(store.dsn) as again:
        report = ingest(store, made, documents_source(path))
    assert report.documents_unchanged + len(report.skipped) == documents, report
    walls, versions = list[float](), list[float]()
    with step(store.dsn) as one:
        for corpus, number in product(CORPORA, range(5, 5 + changes)):
            walls += there_and_back(store, made, made_document(corpus, number), folder)
    with step(store.dsn) as version:
        for number in (1, 2)[:changes]:
            versions += there_and_back(store, made, made_document("docs", number), folder)
    with step(store.dsn) as checked:
        faults = verify(store).height
    assert not faults
    with step(store.dsn) as listed:
        known = topics(store)
    lists = list[float]()
    for name in known["lineage_id"].head(20):
        start = time.perf_counter()
        lineage_named(store, name, "docs")
        lists.append((time.perf_counter() - start) * 1e3)
    return {
        "documents": f"{documents:,}",
        "the source again": f"{again.seconds:.1f} s; its scan alone {scan:.1f} s",
        "memory of it": memory(again),
        "one changed document": f"{median(walls):.2f} s, at most {max(walls):.2f} s",
        "memory of a change": memory(one),
        "a changed version": f"{median(versions):.2f} s, at most {max(versions):.2f} s",
        "memory of that": memory(version),
        "verify": f"{checked.seconds:.1f} s",
        "memory of verify": memory(checked),
        "list of topics": f"{listed.seconds:.2f} s, {known.height:,} topics",
        "versions of one": spread(lists) if lists else "none",
    }


def there_and_back(store: Store, made: Made, line: dict[str, Any], folder: Path) -> Iterator[float]:
    """The seconds of ingesting a document that has changed, and of the same as it was."""
    path = folder / "one.jsonl"
    for one in (changed(line), line):
        path.write_text(json.dumps(one) + "\n")
        report = ingest(store, made, documents_source(path))
        assert report.ok, report.failed[0]
        assert report.documents_changed == 1, report
        yield report.seconds


def measure(
    dsn: str, size: int, made: Made, characters: float, texts: list[str], changes: int
) -> Figures:
    """All figures of one size; those of loading from the run that loaded."""
    name, folder = f"bench-scale-{size}", data_home() / "scale"
    path, kept = folder / f"{size}.jsonl", folder / f"{size}.json"
    if not path.exists():
        print(f"{name}: writing the source", flush=True)
        write_source(path, size, characters)
    load_average = os.getloadavg()[1]
    if name not in collections(dsn):
        kept.unlink(missing_ok=True)
    with open_store(dsn, name, create=True) as store:
        if not kept.exists():
            kept.write_text(json.dumps(load(store, made, path, name)))
        figures: Figures = {"chunks": f"{store.rows('SELECT sum(chunks) FROM corpora')[0][0]:,}"}
        figures |= json.loads(kept.read_text()) | sizes(store)
        print(f"{name}: questions", flush=True)
        figures |= questions(store, made, name, texts)
    vectors = made.embed_queries(texts)
    print(f"{name}: searches", flush=True)
    with open_store(dsn, name, max_size=1) as store:
        figures |= searches(store, texts, vectors)
    print(f"{name}: upkeep", flush=True)
    with open_store(dsn, name) as store:
        figures |= upkeep(store, made, path, folder, changes)
    figures["load of the machine"] = f"{load_average:.1f} to {os.getloadavg()[1]:.1f}"
    return figures


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("sizes", type=int, nargs="*", default=[10_000, 100_000], metavar="CHUNKS")
    options.add_argument("--keep", action="store_true", help="leave the collections there")
    options.add_argument("--queries", type=int, default=100)
    options.add_argument("--changes", type=int, default=2, help="changed documents a corpus")
    options.add_argument("--real", type=int, default=2_000, help="chunks that minilm embeds")
    args = options.parse_args()
    dsn, tokens = resolve_dsn(), load_embedder("minilm")
    like = real_vectors(tokens, args.real, data_home() / "scale" / f"minilm-{args.real}.npy")
    made = Made(like, tokens)
    print(f"Distances among {len(like):,} chunks, p10, p50, p90 and mean\n")
    print("| neighbour | minilm | made |\n|---|---|---|")
    columns = zip(RANKS, distances(like).T, distances(made.sample(len(like))).T, strict=True)
    for rank, *pair in columns:
        stats = [[*np.percentile(one, [10, 50, 90]), one.mean()] for one in pair]
        cells = (", ".join(f"{value:.3f}" for value in values) for values in stats)
        print(f"| {rank} | {' | '.join(cells)} |", flush=True)
    characters, texts = characters_a_chunk(tokens), judged_questions(args.queries)
    by_size = {}
    for size in args.sizes:
        by_size[size] = measure(dsn, size, made, characters, texts, args.changes)
        if not args.keep:
            drop_collection(dsn, f"bench-scale-{size}")
            for path in (data_home() / "scale").glob(f"{size}.*"):
                path.unlink()
    names = list(dict.fromkeys(name for figures in by_size.values() for name in figures))
    print(f"\n| what | {' | '.join(f'{size:,}' for size in by_size)} |")
    print(f"|---|{'---|' * len(by_size)}")
    for name in names:
        print(f"| {name} | {' | '.join(of.get(name, '') for of in by_size.values())} |")


if __name__ == "__main__":
    main()
