"""What `learn` gains on the half of the queries that it did not see.

    python -m benchmarks.learned SET [SET ...] > table.md

Both halves are run by the graph, as the command does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import monotonic

import polars as pl

from benchmarks.judged import NDCG, set_folder
from dataflow import load_config
from dataflow.evaluation.learning import learn
from operators.evaluation.comparison import comparison
from operators.evaluation.evaluation_frames import Evaluation
from operators.evaluation.judgements import read_qrels, read_queries
from operators.evaluation.measures import scores
from operators.postgres.store import open_store

INTRODUCTION = """
# What learning gains on queries it did not see

Written by `python -m benchmarks.learned`. Half of the queries, by group, fit the weights of the
default; nDCG@10 over the default on the other half, with 95 % bootstrap interval and p by paired
randomisation. All are runs of the graph.

Asked: only the hits of the corpora that a query judges count. All corpora: every hit counts.

| set | queries | asked | all corpora | seconds | changed |
|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    options = parser.parse_args()
    print(INTRODUCTION)
    for name in options.sets:
        print(row(name), flush=True)


def row(name: str) -> str:
    folder, began = set_folder(name) / "dev", monotonic()
    with open_store(collection=name) as store:
        result = learn(
            store,
            load_config("default"),
            read_queries(folder / "queries.jsonl"),
            read_qrels(folder / "qrels.tsv"),
            depth=0,
        )
    changed = ", ".join(f"{name} {value:g}" for name, value in result.learned.changed.items())
    cells = [*differences(result.evaluation), f"{monotonic() - began:.0f}", changed or "-"]
    return f"| {name} | {result.evaluation.queries.height} | {' | '.join(cells)} |"


def differences(evaluation: Evaluation) -> Iterator[str]:
    """What is learned against the base in the run of the test half: asked, and in all corpora."""
    all_corpora = scores(
        evaluation.runs, evaluation.qrels, list(evaluation.configs), measures=(NDCG,)
    )
    for values in (evaluation.scores.filter(pl.col("measure") == NDCG), all_corpora):
        one = comparison(values, evaluation.configs[0]).row(0, named=True)
        yield f"{one['difference']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}], p {one['p']:.3f}"


if __name__ == "__main__":
    main()
