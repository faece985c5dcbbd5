"""One question against four corpora: its wall time beside the slowest single search of that run.

    python -m benchmarks.end_to_end btc [--queries 50]

The searches run at the same time, so that a question should take little longer than its slowest
search. The wall time has everything: embedding, searches, reading, fusing, packing.

What a part of it would take is measured in the same run, questions by turns: the two lists of each
corpus with nothing after them; the same with the question's vector known; and each step by itself,
on one worker, of which the longest path is what any number of cores would leave.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.judged import judged_set
from benchmarks.quality import opened
from dataflow import build_driver, load_config
from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.embedding.registry import load_embedder

WANTED = ["results", "context_window", "citations", "notes", "provenance"]
WARM = 3  # questions until connections and caches are warm


class Timed(NamedTuple):
    """Milliseconds of one question."""

    wall: float
    slowest: float  # search
    nodes: dict[str, float]


def timed(driver: RetrievalDriver, wanted: list[str], text: str, **overrides: Any) -> Timed:
    timings: dict[str, float] = {}
    inputs = {"query": text, "timings": timings}
    began = perf_counter()
    driver.execute(wanted, inputs=inputs, overrides=overrides)
    wall = (perf_counter() - began) * 1000
    searches = [ms for name, ms in timings.items() if name.endswith("_search")]
    return Timed(wall, max(searches), timings)


def longest_path(nodes: dict[str, float]) -> float:
    """What the steps take where each starts as soon as it can: I/O aside, on one thread."""
    corpora = {name.partition(".")[0] for name in nodes if name.endswith(".text_search")}
    embedding = nodes["query_embeddings"]
    inputs_and_outputs = {"query_embeddings", "collection", "version_scope", "read_chunks"} | {
        f"{corpus}.{step}" for corpus in corpora for step in ("vector_search", "text_search")
    }
    branches = [
        max(embedding + nodes[f"{corpus}.vector_search"], nodes[f"{corpus}.text_search"])
        for corpus in corpora
    ]
    read = nodes.get("read_chunks", 0.0)
    return (
        max(branches)
        + read
        + sum(ms for name, ms in nodes.items() if name not in inputs_and_outputs)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", nargs="?", default="btc")
    parser.add_argument("--queries", type=int, default=50, help="for each way")
    options = parser.parse_args()
    judged, config = judged_set(options.set), load_config("default")
    embedder = load_embedder(config.embedding)
    texts = judged.queries["texts"].list.first().to_list()
    corpora = sorted(judged.queries["corpora"].explode().unique())
    lists = [f"{name}.{kind}_search" for name in corpora for kind in ("vector", "text")]
    times: dict[str, list[Timed]] = {}
    with (
        opened(judged, embedder) as store,
        build_driver(config, options.set, store=store, embedder=embedder) as driver,
        build_driver(
            config.with_changes({"workers": 1}), options.set, store=store, embedder=embedder
        ) as alone,
    ):
        for text in texts[:WARM]:
            timed(driver, WANTED, text)
            timed(alone, WANTED, text)
        for number, text in enumerate(texts[WARM : WARM + 4 * options.queries]):
            way = number % 4
            if way == 0:
                times.setdefault("everything", []).append(timed(driver, WANTED, text))
            elif way == 1:
                times.setdefault("lists alone", []).append(timed(driver, lists, text))
            elif way == 2:
                known = driver.execute(["query_embeddings"], inputs={"query": text})
                times.setdefault("lists alone, vector known", []).append(
                    timed(driver, lists, text, **known)
                )
            else:
                times.setdefault("one after the other", []).append(timed(alone, WANTED, text))
    print(f"{options.set}, {len(corpora)} corpora; p50 of ms")
    print("| what | questions | wall | slowest search | ratio |")
    print("|---|---|---|---|---|")
    for name, runs in times.items():
        wall, slowest = median(run.wall for run in runs), median(run.slowest for run in runs)
        ratio = median(run.wall / run.slowest for run in runs)
        print(f"| {name} | {len(runs)} | {wall:.1f} | {slowest:.1f} | {ratio:.2f} |")
    runs = times["one after the other"]
    path = median(longest_path(run.nodes) for run in runs)
    ratio = median(longest_path(run.nodes) / run.slowest for run in runs)
    print(f"| longest path of these | {len(runs)} | {path:.1f} | | {ratio:.2f} |")
    embedding = median(run.nodes["query_embeddings"] for run in runs)
    print(f"embedding by itself: {embedding:.1f}")


if __name__ == "__main__":
    main()
