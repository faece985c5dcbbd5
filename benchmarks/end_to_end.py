"""One question against four corpora: its wall time beside the slowest single search of that run.

    python -m benchmarks.end_to_end btc [--queries 50]

The searches run at the same time, so that a question should take little longer than its slowest
search. The wall time has everything: embedding, searches, reading, fusing, packing.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter

from benchmarks.judged import judged_set
from benchmarks.quality import opened
from dataflow import build_driver, load_config
from operators.embedding.embedder import load_embedder

WANTED = ["results", "context_window", "citations", "notes", "provenance"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", nargs="?", default="btc")
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    judged, config = judged_set(options.set), load_config("default")
    embedder = load_embedder(config.embedding)
    texts = judged.queries["texts"].list.first().to_list()[: options.queries + 3]
    walls, slowest, embedding, ratios = [], [], [], []
    with (
        opened(judged, embedder) as store,
        build_driver(config, options.set, store=store, embedder=embedder) as driver,
    ):
        for number, text in enumerate(texts):
            timings: dict[str, float] = {}
            began = perf_counter()
            driver.execute(WANTED, inputs={"query": text, "timings": timings})
            wall = (perf_counter() - began) * 1000
            searches = [ms for name, ms in timings.items() if name.endswith("_search")]
            if number < 3:  # connections and caches warm up
                continue
            walls.append(wall)
            slowest.append(max(searches))
            embedding.append(timings["query_embeddings"])
            ratios.append(wall / max(searches))
    print(
        "| set | questions | wall p50 ms | embedding p50 ms | slowest search p50 ms | ratio p50 |"
    )
    print("|---|---|---|---|---|---|")
    cells = [median(values) for values in (walls, embedding, slowest)]
    shown = " | ".join(f"{cell:.1f}" for cell in cells)
    print(f"| {options.set} | {len(walls)} | {shown} | {median(ratios):.2f} |")


if __name__ == "__main__":
    main()
