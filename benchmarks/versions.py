"""Which version answers: the graph against bm25s over all versions and over the newest alone.

    python -m benchmarks.versions [SET ...] [--config NAME ...] [--set NAME=VALUE ...]

The corpus `docs` of each set, the open queries. Judged are the queries with a relevant document
that is the newest of its topic (version_groups.tsv), by those documents alone; "newest first" is
the share of them whose first document of a relevant topic is its newest version, "stale" the share
of the first ten documents that have a newer sibling. The second table is for the questions that
name a version: whether a judged page of that version comes among the first five, and into the
context.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
import yaml

from benchmarks.judged import NDCG, JudgedSet, data_folder, document_run, judged_set, mean
from benchmarks.quality import peer_hits, rrf
from dataflow import RetrievalDriver, build_driver, load_config
from dataflow.evaluation.answers import for_evaluation
from operators.postgres.store import open_store

SETS = ("rpcver", "versionrag", "pytest", "btc")
CORPUS = "docs"
FIRST = 10


@dataclass(frozen=True)
class Topics:
    """Which topic each versioned document is of, its version, and whether it is the newest."""

    of: dict[str, str]
    version: dict[str, str]
    newest: set[str]

    def stale(self, document: str) -> bool:
        """Whether a newer version of the document is there."""
        return document in self.of and document not in self.newest


def topics(name: str) -> Topics:
    with (data_folder() / name / "version_groups.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    mark = "is_newest_by_version" if "is_newest_by_version" in rows[0] else "is_newest"
    return Topics(
        {row["doc_id"]: row["topic_key"] for row in rows},
        {row["doc_id"]: row["version"] for row in rows},
        {row["doc_id"] for row in rows if row[mark] == "1"},
    )


def newest_only(judged: JudgedSet, of: Topics) -> JudgedSet:
    """The judgements of newest versions alone, and the queries that have one."""
    qrels = [qrel for qrel in judged.qrels if qrel.doc_id in of.newest]
    return asked(replace(judged, qrels=qrels), {qrel.query_id for qrel in qrels})


def asked(judged: JudgedSet, names: set[str]) -> JudgedSet:
    numbers = [number for number, name in judged.names.items() if name in names]
    queries = judged.queries.filter(pl.col("query_id").is_in(numbers)).with_columns(
        corpora=pl.lit([CORPUS], pl.List(pl.String))
    )
    qrels = [qrel for qrel in judged.qrels if qrel.query_id in names]
    return replace(judged, queries=queries, qrels=qrels)


def bm25s_run(judged: JudgedSet, kept: Iterable[str] | None = None) -> pl.DataFrame:
    with gzip.open(judged.documents, "rt", encoding="utf-8") as lines:
        documents = [row for row in map(json.loads, lines) if row["corpus"] == CORPUS]
    if kept is not None:
        only = set(kept)
        documents = [row for row in documents if row["doc_id"] in only]
    texts = [f"{row.get('title') or ''}\n{row['text']}" for row in documents]
    ids = list(range(len(documents)))
    hits = peer_hits(texts, ids, [None] * len(ids), judged.queries)
    frame = pl.DataFrame({"chunk_id": ids, "document_id": [row["doc_id"] for row in documents]})
    return document_run(rrf(hits), frame, judged)


def graph_run(driver: RetrievalDriver, judged: JudgedSet, inputs: dict[str, Any]) -> pl.DataFrame:
    nodes = ["unique", "chunks"]
    out = driver.execute(nodes, inputs=inputs, overrides={"queries": judged.queries})
    return document_run(out["unique"], out[nodes[1]], judged)


def ordered(run: pl.DataFrame) -> dict[str, list[str]]:
    best = run.sort("query_id", "score", descending=[False, True])
    return dict(best.group_by("query_id").agg("doc_id").iter_rows())


def newest_first(run: pl.DataFrame, judged: JudgedSet, of: Topics) -> float:
    lists = ordered(run)
    newest = []
    for name in {qrel.query_id for qrel in judged.qrels}:
        relevant = {of.of[qrel.doc_id] for qrel in judged.qrels if qrel.query_id == name}
        first = next((doc for doc in lists.get(name, []) if of.of.get(doc) in relevant), None)
        newest.append(first in of.newest)
    return sum(newest) / len(newest)


def stale_share(run: pl.DataFrame, of: Topics) -> float:
    shown = [doc for documents in ordered(run).values() for doc in documents[:FIRST]]
    return sum(map(of.stale, shown)) / max(len(shown), 1)


def named(judged: JudgedSet, of: Topics) -> dict[str, set[str]]:
    """The judged pages of the versions that a question names, by question."""
    path = data_folder() / judged.name / "dev" / "queries.jsonl"
    pages_of = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        versions = set(row.get("versions_named") or ())
        pages = {
            qrel.doc_id
            for qrel in judged.qrels
            if qrel.query_id == row["query_id"] and of.version.get(qrel.doc_id) in versions
        }
        if pages:
            pages_of[row["query_id"]] = pages
    return pages_of


def show_named(driver: RetrievalDriver, judged: JudgedSet, of: Topics, inputs: Any) -> str | None:
    pages = named(judged, of)
    if not pages:
        return None
    some = asked(judged, set(pages))
    lists = ordered(graph_run(driver, some, inputs))
    out = driver.execute(["packed", "chunks"], inputs=inputs, overrides={"queries": some.queries})
    packed = out["packed"].join(out["chunks"]["chunk_id", "document_id"], on="chunk_id")
    context: dict[str, set[str]] = {}
    for query_id, document in packed["query_id", "document_id"].iter_rows():
        context.setdefault(judged.names[query_id], set()).add(document)
    for name, wanted in pages.items():
        if not wanted & set(lists.get(name, [])[:5]):
            print(f"missed: {name} {sorted(wanted)} {lists.get(name, [])[:5]}")
    top = sum(bool(wanted & set(lists.get(name, [])[:5])) for name, wanted in pages.items())
    inside = sum(bool(wanted & context.get(name, set())) for name, wanted in pages.items())
    return f"| {judged.name} | {len(pages)} | {top / len(pages):.3f} | {inside / len(pages):.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--config", nargs="+", default=["default"])
    parser.add_argument("--set", nargs="*", default=[], help="a parameter of this run")
    parser.add_argument("--graph-only", action="store_true")
    options = parser.parse_args()
    inputs = {key: yaml.safe_load(value) for key, value in (s.split("=", 1) for s in options.set)}
    print("| set | queries | system | newest first | stale in top 10 | nDCG@10, newest only |")
    print("|---|---|---|---|---|---|")
    lines = []
    for name in options.sets:
        of = topics(name)
        judged = newest_only(judged_set(name), of)

        def show(
            system: str, run: pl.DataFrame, judged: JudgedSet = judged, of: Topics = of
        ) -> None:
            values = (
                newest_first(run, judged, of),
                stale_share(run, of),
                mean(NDCG, run, judged.qrels),
            )
            cells = " | ".join(f"{value:.3f}" for value in values)
            print(f"| {judged.name} | {judged.queries.height} | {system} | {cells} |", flush=True)

        if not options.graph_only:
            show("bm25s, all versions", bm25s_run(judged))
            show("bm25s, the newest alone", bm25s_run(judged, unless_stale(judged, of)))
        for config in options.config:
            with (
                open_store(collection=name) as store,
                build_driver(for_evaluation(load_config(config)), name, store=store) as driver,
            ):
                show(config, graph_run(driver, judged, inputs))
                line = show_named(driver, judged_set(name), of, inputs)
                lines += [line] if line else []
    if lines:
        print(
            "\n| set | questions that name a version | its page in the first 5 | in the context |"
        )
        print("|---|---|---|---|")
        print("\n".join(lines))


def unless_stale(judged: JudgedSet, of: Topics) -> list[str]:
    with gzip.open(judged.documents, "rt", encoding="utf-8") as lines:
        ids = [json.loads(line)["doc_id"] for line in lines]
    return [one for one in ids if not of.stale(one)]


if __name__ == "__main__":
    main()
