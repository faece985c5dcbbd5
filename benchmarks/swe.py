"""SWE-bench Lite as file localization: which file did the fix of an issue change?

    python -m benchmarks swe --clones DIR [--only flask requests] [--config NAME ...] [--history N]

The corpus of a question is the Python files outside tests at the commit before the fix, and nothing
later: a repository of its own for each question (``flask/4045``). With ``--history`` the commits
before the fix are there too, N deep, and files alone are ranked. A vector is made once.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.clones import add_options, clone, read_tree, shallow, to_fetch
from benchmarks.judged import set_folder
from dataflow import load_config
from dataflow.evaluation.graph import evaluate
from dataflow.ingestion.loop import ingest
from operators.embedding.registry import load_embedder
from operators.errors import check_known
from operators.evaluation.evaluation_frames import Evaluation
from operators.evaluation.judgements import read_qrels, read_queries
from operators.postgres.store import open_store
from operators.sources.git.git_source import git_source

MEASURES = ("Acc@1", "Acc@3", "Acc@5", "Acc@10", "MRR")
PUBLISHED = {
    "BM25": (274, "38.7", "51.8", "61.7", "", ""),
    "E5-base-v2": (274, "49.6", "74.5", "80.3", "", ""),
    "CodeRankEmbed": (274, "52.6", "77.7", "84.7", "", ""),
}
"""As LocAgent's paper has them, of 274 instances."""


@dataclass(frozen=True)
class Project:
    """A repository of the benchmark, and its instances."""

    name: str
    url: str
    folder: Path
    instances: list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "swe")
    parser.add_argument("--history", type=int, metavar="N", help="search N earlier commits too")
    options = parser.parse_args()
    wanted = projects(set_folder("swe") / "dev", options.only)
    lines = [to_fetch(options.clones, one.url, commits(one)) for one in wanted]
    for line in filter(None, lines):
        print(f"to fetch: {line}")
    there = [one for one, line in zip(wanted, lines, strict=True) if line is None]
    if not there:
        print(f"left out: no repository of the benchmark is in {options.clones}")
        return
    configs = {name: load_config(name) for name in options.config}
    embedder = load_embedder(next(iter(configs.values())).embedding)
    print("| repository | queries | system | " + " | ".join(MEASURES) + " |")
    print("|---|---|---|---|---|---|---|---|")
    with open_store(collection=options.collection, create=True) as store:
        for one in there:
            cloned = clone(options.clones, one.url)
            assert cloned is not None
            for instance in one.instances:
                name = snapshot(instance["instance_id"])
                read_tree(store, embedder, cloned, instance["base_commit"], name, is_source)
                if options.history:
                    tree = shallow(cloned, instance["base_commit"], name, options.history)
                    ingest(store, embedder, git_source(tree, name), corpora=["history"])
        queries, qrels = (pl.concat(frames) for frames in zip(*map(judged, there), strict=True))
        queries = queries.with_columns(number=pl.int_range(pl.len(), dtype=pl.UInt32))
        if options.history:
            asked = pl.lit(["code", "history"], pl.List(pl.String))
            queries = queries.with_columns(corpora=asked)
        result = evaluate(
            store,
            configs,
            queries,
            qrels,
            embedder=embedder,
            unit="file",
            depth=0,
            measure_names=MEASURES,
        )
    show(result)
    for system, (count, *cells) in PUBLISHED.items():
        print(f"| published | {count} | {system} | " + " | ".join(cells) + " |")


def projects(folder: Path, only: list[str] | None) -> list[Project]:
    """The repositories of the open half, those of ``only``.

    Raises:
        UnknownName: one of ``only`` is none of them.
    """
    known = {}
    for one in sorted(folder.iterdir()):
        owner, name = one.name.split("__", 1)
        lines = (one / "instances.jsonl").read_text("utf-8").splitlines()
        url = f"https://github.com/{owner}/{name}.git"
        known[name] = Project(name, url, one, [json.loads(line) for line in lines])
    for name in only or ():
        check_known("repository", name, known)
    return [known[name] for name in only or known]


def commits(project: Project) -> list[str]:
    return [one["base_commit"] for one in project.instances]


def snapshot(instance_id: str) -> str:
    """The name of an instance's repository.

    >>> snapshot("pallets__flask-4045")
    'flask/4045'
    """
    name, _, number = instance_id.partition("__")[2].rpartition("-")
    return f"{name}/{number}"


def is_source(path: str) -> bool:
    """Whether a file is Python outside tests, by LocAgent's patterns.

    ``django/test`` is what Django gives to others' tests.
    """
    *folders, name = path.split("/")
    tests = not {"tests", "test"}.isdisjoint(folders) and not path.startswith("django/test/")
    return name.endswith(".py") and not (
        tests or name.startswith("test_") or name.endswith("_test.py")
    )


def judged(project: Project) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Its queries and judgements, each of the question's own snapshot."""
    queries = read_queries(project.folder / "queries.jsonl")
    qrels = read_qrels(project.folder / "qrels.tsv")
    repos = {name: snapshot(name) for name in queries["query_id"]}
    of_query = pl.col("query_id").replace_strict(repos, return_dtype=pl.String)
    own = queries.with_columns(
        repos=pl.concat_list(of_query),
        kind=pl.lit(project.name),
        corpora=pl.lit(["code"], pl.List(pl.String)),
    )
    return own, qrels.with_columns(doc_id=pl.format("{}:{}", of_query, "doc_id"))


def show(found: Evaluation) -> None:
    """Percent of Acc@k, and MRR, of each repository and of all."""
    scores = found.corpus_scores.filter(corpus="code").join(
        found.queries.select("query_id", "kind"), on="query_id"
    )
    names = scores["kind"].unique(maintain_order=True).sort().to_list()
    for name in [*names, "all"] if len(names) > 1 else names:
        part = scores if name == "all" else scores.filter(kind=name)
        for config in found.configs:
            own = part.filter(config=config)
            means = dict(own.group_by("measure").agg(pl.col("value").mean()).iter_rows())
            cells = [
                f"{means[measure]:.3f}" if measure == "MRR" else f"{100 * means[measure]:.1f}"
                for measure in MEASURES
            ]
            count = own["query_id"].n_unique()
            print(f"| {name} | {count} | {config} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
