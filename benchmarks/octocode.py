"""A peer's benchmark that is judged by lines: Muvon's octocode, on its own source.

    python -m benchmarks octocode --clones DIR [--config NAME ...]

Reads ``benchmark/code.csv`` and ``benchmark/docs.csv`` (127 questions each, with one to three
places) and the tree that they were written on. As the peer counts: a place in the list answers if
its lines overlap those of a judged place. A result counts with the passage that it shows, with the
further ones of its file that it names (``more_of_file``), and each passage of the whole list alone.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchmarks.clones import add_options, clone, read_tree, to_fetch
from dataflow import RetrievalDriver, build_driver, load_config
from dataflow.evaluation.answers import for_evaluation, questions
from operators.embedding.registry import load_embedder
from operators.evaluation.evaluation_frames import JUDGED_QUERIES
from operators.postgres.store import open_store

URL = "https://github.com/Muvon/octocode"
REVISION = "b1771ba48214ce7404ad7158e277eb60680912b4"
"""The commit that the questions were written on; they are read from the newest one."""
SETS = ("code", "docs")
CUT = 10
BATCH = 32

Place = tuple[str | None, int, int]
"""A path, and the first and the last line."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "octocode")
    options = parser.parse_args()
    if (missing := to_fetch(options.clones, URL, [REVISION])) is not None:
        print(f"left out; to fetch: {missing}")
        return
    cloned = clone(options.clones, URL)
    assert cloned is not None
    configs = {name: for_evaluation(load_config(name)) for name in options.config}
    embedder = load_embedder(next(iter(configs.values())).embedding)
    print("| questions | searched | config | list | hit@5 | hit@10 | MRR | recall@10 |")
    print("|---|---|---|---|---|---|---|---|")
    with open_store(collection=options.collection, create=True) as store:
        read_tree(store, embedder, cloned, REVISION, "octocode", lambda path: True, SETS)
        for name, config in configs.items():
            with build_driver(config, store=store, embedder=embedder) as driver:
                for kind in SETS:
                    judged = read_judged(cloned, kind)
                    for corpora in ([kind], None):
                        for of, values in asked(driver, judged, corpora).items():
                            shown = " | ".join(f"{value:.3f}" for value in values)
                            print(f"| {kind} | {corpora or 'all'} | {name} | {of} | {shown} |")


def read_judged(cloned: Path, kind: str) -> list[tuple[str, list[Place]]]:
    """The questions of a set, each with its judged places (``src/a.rs:41-61:2``)."""
    command = ["git", "-C", str(cloned), "show", f"HEAD:benchmark/{kind}.csv"]
    text = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    judged = []
    for row in csv.DictReader(text.splitlines()):
        texts = [row[name].strip() for name in ("result1", "result2", "result3") if row[name]]
        judged.append((row["query"], [_place(one) for one in texts if one]))
    return judged


def _place(text: str) -> Place:
    path, lines, _ = text.rsplit(":", 2)
    first, last = lines.split("-")
    return path, int(first), int(last)


def asked(
    driver: RetrievalDriver, judged: Sequence[tuple[str, list[Place]]], corpora: list[str] | None
) -> dict[str, list[float]]:
    """hit@5, hit@10, MRR and recall@10 of each way to read the answers."""
    rows = [
        {"query_id": str(n), "number": n, "texts": [text], "text": text, "trigger": "question"}
        for n, (text, _) in enumerate(judged)
    ]
    frame = questions(pl.DataFrame(rows, schema=JUDGED_QUERIES))
    frame = frame.with_columns(corpora=pl.lit(corpora, pl.List(pl.String)))
    lists: dict[str, list[list[list[Place]]]] = {"shown": [], "shown and named": [], "passages": []}
    for batch in frame.iter_slices(BATCH):
        out = driver.execute(["results", "unique"], overrides={"queries": batch})
        for number in batch["query_id"]:
            results = out["results"].filter(query_id=number).sort("rank").to_dicts()
            passages = out["unique"].filter(query_id=number).sort("rank").head(CUT).to_dicts()
            lists["shown"].append([[_lines(one["path"], one)] for one in results])
            lists["shown and named"].append(
                [[_lines(r["path"], one) for one in (r, *r["more_of_file"])] for r in results]
            )
            lists["passages"].append([[_lines(one["path"], one)] for one in passages])
    return {of: _measures(found, [places for _, places in judged]) for of, found in lists.items()}


def _lines(path: str | None, one: dict[str, int | None]) -> Place:
    """A passage's place; one without lines is its whole document."""
    return path, one["start_line"] or 0, one["end_line"] or 10**9


def _measures(found: list[list[list[Place]]], judged: list[list[Place]]) -> list[float]:
    sums = [0.0] * 4
    for results, places in zip(found, judged, strict=True):
        hit = [{p for p in places for one in of if _overlap(p, one)} for of in results[:CUT]]
        ranks = [rank for rank, of in enumerate(hit, start=1) if of]
        first = ranks[0] if ranks else 0
        recall = len(set().union(*hit)) / len(places)
        own = (0 < first <= 5, first > 0, 1 / first if first else 0, recall)
        sums = [total + value for total, value in zip(sums, own, strict=True)]
    return [total / len(judged) for total in sums]


def _overlap(one: Place, two: Place) -> bool:
    return one[0] == two[0] and one[1] <= two[2] and two[1] <= one[2]


if __name__ == "__main__":
    main()
