"""A peer's benchmark for code search: MinishLab's semble, scored strictly as the peer does.

    python -m benchmarks semble --clones DIR [--only redux zig-clap] [--config NAME ...]

Indexes ``benchmark_root`` of each repository at its pinned revision. A target stands at the place
of the first passage of its file that overlaps its lines, and a further passage of a file takes a
place. nDCG@10: every target has gain 1, and the ideal has all of them. The peers' figures are those
of their own result files.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.clones import add_options, clone, read_tree, to_fetch
from benchmarks.judged import set_folder
from dataflow import RetrievalDriver, build_driver, load_config
from dataflow.evaluation.answers import for_evaluation, questions
from operators.embedding.registry import load_embedder
from operators.errors import check_known
from operators.evaluation.evaluation_frames import JUDGED_QUERIES
from operators.postgres.store import open_store

CATEGORIES = ("architecture", "semantic", "symbol")
CUT = 10
LISTS = ("results", "unique")
"""What a caller gets, of each file the best passage; and every passage."""
PEERS = {"semble": "semble-hybrid-*.json", "CodeRankEmbed": "coderankembed-*.json"}

SCORES = pl.Schema(
    {
        "repository": pl.String(),
        "system": pl.String(),
        "category": pl.String(),
        "queries": pl.Int64(),  # that the row is the mean of
        "strict": pl.Float64(),
        "every_passage": pl.Float64(),
    }
)

Passage = tuple[str, int | None, int | None]
"""A path, and the first and the last line."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "semble")
    options = parser.parse_args()
    folder = set_folder("semble")
    there = present(repositories(folder, options.only), options.clones)
    if not there:
        print(f"left out: no repository of the benchmark is in {options.clones}")
        return
    configs = {name: for_evaluation(load_config(name)) for name in options.config}
    embedder = load_embedder(next(iter(configs.values())).embedding)
    print(
        "| repository | queries | system | strict | every passage | "
        + " | ".join(CATEGORIES)
        + " |"
    )
    print("|---|---|---|---|---|---|---|---|")
    scores = pl.DataFrame(schema=SCORES)
    with open_store(collection=options.collection, create=True) as store:
        for one in there:
            cloned = clone(options.clones, one["url"])
            assert cloned is not None
            keep = partial(is_inside, one.get("benchmark_root"))
            read_tree(store, embedder, cloned, one["revision"], one["name"], keep)
            tasks = json.loads((folder / "dev" / f"{one['name']}.json").read_text("utf-8"))
            parts = [peers(folder, one["name"], tasks)]
            for name, config in configs.items():
                with build_driver(config, store=store, embedder=embedder) as driver:
                    parts.append(asked(driver, name, one["name"], tasks))
            here = pl.concat(parts[::-1])
            show(one["name"], here)
            scores = pl.concat([scores, here])
    if len(there) > 1:
        show("all", scores)


def repositories(folder: Path, only: Sequence[str] | None) -> list[dict[str, Any]]:
    """The repositories that have annotations here, those of ``only``.

    Raises:
        UnknownName: one of ``only`` is none of them.
    """
    every = json.loads((folder / "repos.json").read_text("utf-8"))
    known = {o["name"]: o for o in every if (folder / "dev" / f"{o['name']}.json").is_file()}
    for name in only or ():
        check_known("repository", name, known)
    return [known[name] for name in only or known]


def present(wanted: Sequence[dict[str, Any]], clones: Path) -> list[dict[str, Any]]:
    """Those whose clone has the pinned revision; prints how to fetch the others."""
    lines = [to_fetch(clones, one["url"], [one["revision"]]) for one in wanted]
    for line in filter(None, lines):
        print(f"to fetch: {line}")
    return [one for one, line in zip(wanted, lines, strict=True) if line is None]


def is_inside(root: str | None, path: str) -> bool:
    return root in (None, "", ".") or path.startswith(f"{root}/")


def asked(
    driver: RetrievalDriver, system: str, repo: str, tasks: Sequence[Mapping[str, Any]]
) -> pl.DataFrame:
    """``SCORES`` of one system."""
    rows = [
        {
            "query_id": str(number),
            "number": number,
            "texts": [task["query"]],
            "text": task["query"],
            "trigger": "question",
            "repos": [repo],
        }
        for number, task in enumerate(tasks)
    ]
    queries = questions(pl.DataFrame(rows, schema=JUDGED_QUERIES))
    queries = queries.with_columns(corpora=pl.lit(["code"], pl.List(pl.String)))
    lists = driver.execute(list(LISTS), overrides={"queries": queries})
    values = {name: strict_ndcg(lists[name], tasks) for name in LISTS}
    scored = [
        (repo, system, task["category"], 1, *(values[name][number] for name in LISTS))
        for number, task in enumerate(tasks)
    ]
    return pl.DataFrame(scored, schema=SCORES, orient="row")


def strict_ndcg(ranked: pl.DataFrame, tasks: Sequence[Mapping[str, Any]]) -> list[float]:
    """nDCG@10 of each task by its number; ``ranked`` has query_id, rank, path and lines."""
    lists: dict[int, list[Passage]] = {}
    columns = ranked.sort("query_id", "rank").select("query_id", "path", "start_line", "end_line")
    for number, *passage in columns.iter_rows():
        lists.setdefault(number, []).append(tuple(passage))
    return [_ndcg(lists.get(number, [])[:CUT], targets(task)) for number, task in enumerate(tasks)]


def targets(task: Mapping[str, Any]) -> list[Passage]:
    """Primary and secondary ones alike."""
    every = [*task["relevant"], *(task.get("secondary") or ())]
    return [
        (one, None, None)
        if isinstance(one, str)
        else (one["path"], one.get("start_line"), one.get("end_line"))
        for one in every
    ]


def _ndcg(passages: Sequence[Passage], wanted: Sequence[Passage]) -> float:
    places = [_place(passages, target) for target in wanted]
    gained = sum(1 / math.log2(place + 2) for place in places if place is not None)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(wanted), CUT)))
    return gained / best if best else 0.0


def _place(passages: Sequence[Passage], target: Passage) -> int | None:
    """The place, from 0, of the first passage that covers the target."""
    path, first, last = target
    for place, (other, start, end) in enumerate(passages):
        named = other == path or (other or "").endswith(f"/{path}")
        inside = first is None or start is None or (start <= (last or first) and end >= first)
        if named and inside:
            return place
    return None


def peers(folder: Path, repo: str, tasks: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """``SCORES`` of the peers: their mean of each category, for as many queries as are here."""
    rows = []
    for system, pattern in PEERS.items():
        for file in sorted((folder / "peer_results").glob(pattern)):
            for one in json.loads(file.read_text("utf-8"))["repos"]:
                if one["repo"] == repo and one.get("mode", "hybrid") == "hybrid":
                    means = one["by_category"]
                    counts = Counter(task["category"] for task in tasks)
                    rows += [
                        (repo, system, category, counts[category], value, None)
                        for category, value in means.items()
                        if counts[category]
                    ]
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def show(name: str, scores: pl.DataFrame) -> None:
    for system in scores["system"].unique(maintain_order=True):
        own = scores.filter(system=system)
        cells = [_mean(own, "strict"), _mean(own, "every_passage")]
        cells += [_mean(own.filter(category=category), "strict") for category in CATEGORIES]
        print(
            f"| {name} | {own['queries'].sum()} | {system} | " + " | ".join(cells) + " |",
            flush=True,
        )


def _mean(scores: pl.DataFrame, column: str) -> str:
    known = scores.drop_nulls(column)
    total = known["queries"].sum()
    return f"{(known[column] * known['queries']).sum() / total:.3f}" if total else ""


if __name__ == "__main__":
    main()
