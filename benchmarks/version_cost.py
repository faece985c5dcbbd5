"""What it costs a question that versions are known: CPU of the server's backends and of the client.

    python -m benchmarks.version_cost [SET ...] [--questions 100] [--rounds 7]

The open questions, corpus `docs`, one at a time, each with its vectors ready, against the same
questions of a store that does not know of versions. Asked are every version, the newest ones, a
version in the middle (by argument, and by a sentence after the question), and the middle of the
release dates (against the same date without versions). A round asks all of these in turn; the table
has the medians over the rounds, in milliseconds of CPU a question. Backends count in hundredths of
a second, so a round should have a hundred questions; where there are fewer they are asked again.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import polars as pl
import psutil

from benchmarks.judged import judged_set
from benchmarks.versions import CORPUS
from dataflow import RetrievalDriver, build_driver, load_config
from operators.frames import QUERIES
from operators.postgres.search.known_versions import known_versions
from operators.postgres.store import Store, collection_info, open_store

SETS = ("versionrag", "rpcver", "pytest", "btc")
WANTED = ["results", "context_window", "citations", "notes"]
WARM = 10


class Cost(NamedTuple):
    """Seconds of CPU."""

    server: float
    client: float


class Way(NamedTuple):
    """A way to ask: what it adds to the question, to its row, and what it is compared with."""

    text: str
    columns: dict[str, Any]
    against: str | None


@contextmanager
def opened(name: str) -> Iterator[tuple[Store, RetrievalDriver, Callable[[], Cost]]]:
    """A store with two connections, a driver, and the CPU that all of it has used."""
    with (
        open_store(collection=name, max_size=2) as store,
        build_driver(load_config("default"), name, store=store) as driver,
    ):
        with store.pool.connection() as one, store.pool.connection() as other:
            backends = [psutil.Process(conn.info.backend_pid) for conn in (one, other)]
        yield (
            store,
            driver,
            lambda: Cost(sum(sum(b.cpu_times()[:2]) for b in backends), process_time()),
        )


def forget_versions(store: Store) -> None:
    """Have ``store`` take its corpora for ones without versions."""
    collection_info(store)
    assert store.cache.superseded is not None
    store.cache.superseded = store.cache.superseded[0], {}
    store.forget_info()
    assert not collection_info(store).superseded


def ways(store: Store) -> dict[str, Way]:
    known = known_versions(store).filter(pl.col("corpus") == CORPUS)
    counted = known["version"].drop_nulls().value_counts().sort("count", "version")["version"]
    version = counted[len(counted) * 3 // 4]
    sentence = f" What does version {version} say?"
    by_label = {
        "without versions": Way("", {"version_policy": "all"}, None),
        "all": Way("", {"version_policy": "all"}, "without versions"),
        "newest": Way("", {}, "without versions"),
        f"pinned {version}": Way(
            "", {"version_policy": "pinned", "versions": [version]}, "without versions"
        ),
        "without versions, a sentence more": Way(sentence, {"version_policy": "all"}, None),
        f"named {version}": Way(sentence, {}, "without versions, a sentence more"),
    }
    moments = known["released_at"].drop_nulls().sort()
    if len(moments):
        at = {"as_of": moments[len(moments) // 2]}
        by_label["without versions, dated"] = Way("", {"version_policy": "all", **at}, None)
        by_label[f"as of {at['as_of']:%Y-%m-%d}"] = Way("", at, "without versions, dated")
    return by_label


def asked(name: str, number: int, way: Way) -> list[pl.DataFrame]:
    """The questions, each a frame `QUERIES` of one row."""
    texts = judged_set(name).queries["texts"].to_list()[:number]
    texts = (texts * (number // len(texts) + 1))[:number]
    empty: dict[str, Any] = dict.fromkeys(QUERIES)
    rows = [
        {**empty, "query_id": 0, "texts": [t[0] + way.text, *t[1:]], "corpora": [CORPUS]}
        for t in texts
    ]
    return [pl.DataFrame([{**row, **way.columns}], schema=QUERIES) for row in rows]


def measure(name: str, number: int, rounds: int) -> tuple[dict[str, Way], dict[str, list[Cost]]]:
    """The ways to ask, and what all questions cost, by way and round."""
    costs: dict[str, list[Cost]] = defaultdict(list)
    vectors: dict[str, list[pl.DataFrame]] = {}
    with opened(name) as knows, opened(name) as blind:
        forget_versions(blind[0])
        by_label = ways(knows[0])
        batches = {label: asked(name, number, way) for label, way in by_label.items()}
        for label, way in by_label.items():
            if way.text not in vectors:
                vectors[way.text] = [
                    knows[1].execute(["query_embeddings"], overrides={"queries": one})[
                        "query_embeddings"
                    ]
                    for one in batches[label]
                ]
        for warm in (True, *[False] * rounds):
            for label, way in by_label.items():
                _, driver, clock = knows if way.against else blind
                batch = batches[label][: WARM if warm else None]
                before = clock()
                for one, embedded in zip(batch, vectors[way.text], strict=False):
                    driver.execute(WANTED, overrides={"queries": one, "query_embeddings": embedded})
                after = clock()
                if not warm:
                    costs[label].append(
                        Cost(after.server - before.server, after.client - before.client)
                    )
    return by_label, costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print("| set | asked | server | client | more than without versions: server | client | both |")
    print("|---|---|---|---|---|---|---|")
    for name in options.sets:
        by_label, costs = measure(name, options.questions, options.rounds)
        for label, spent in costs.items():
            base = costs[by_label[label].against or label]
            figures = [
                median(one.server for one in spent),
                median(one.client for one in spent),
                median(one.server - all_.server for one, all_ in zip(spent, base, strict=True)),
                median(one.client - all_.client for one, all_ in zip(spent, base, strict=True)),
                median(sum(one) - sum(all_) for one, all_ in zip(spent, base, strict=True)),
            ]
            cells = " | ".join(f"{figure / options.questions * 1000:.2f}" for figure in figures)
            print(f"| {name} | {label} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
