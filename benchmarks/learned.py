"""What `learn` gains on the half of the queries that it did not see.

    python -m benchmarks.learned SET [SET ...] [--seeds 5] > table.md

For seed 0 both halves are run by the graph, as the command does; for the other splits the test half
too is worked out from lists that are fetched once, which is within .002 of a run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import polars as pl

from benchmarks.few_queries import found
from benchmarks.judged import NDCG, set_folder
from dataflow import load_config
from dataflow.evaluation.learning import base_parameters, learn
from operators.arrays.segments import Floats
from operators.evaluation import weight_fitting
from operators.evaluation.candidates import together
from operators.evaluation.comparison import comparison
from operators.evaluation.evaluation_frames import Evaluation
from operators.evaluation.judgements import read_qrels, read_queries
from operators.evaluation.measures import scores
from operators.postgres.store import open_store

INTRODUCTION = """
# What learning gains on queries it did not see

Written by `python -m benchmarks.learned`. Half of the queries, by group, fit the parameters of the
default; nDCG@10 over the default on the other half. Seed 0: runs of the graph, with 95 % bootstrap
interval and p by paired randomisation. All seeds: mean over the splits, and in brackets the least
and the greatest.

Asked: only the hits of the corpora that a query judges count. All corpora: every hit counts.

| set | queries | seed 0, asked | seed 0, all corpora | all seeds, asked | all seeds, all corpora | changed |
|---|---|---|---|---|---|---|"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(INTRODUCTION)
    for name in options.sets:
        print(row(name, range(options.seeds)), flush=True)


def row(name: str, seeds: range) -> str:
    folder = set_folder(name) / "dev"
    with open_store(collection=name) as store:
        result = learn(
            store,
            load_config("default"),
            read_queries(folder / "queries.jsonl"),
            read_qrels(folder / "qrels.tsv"),
            depth=0,
        )
    gains = np.array(list(splits(name, seeds)))
    cells = [*differences(result.evaluation), *(_spread(gains[:, mode, 0]) for mode in (0, 1))]
    changed = f"{int(gains[:, 0, 1].sum())} of {len(gains)}"
    return f"| {name} | {result.evaluation.queries.height} | {' | '.join(cells)} | {changed} |"


def differences(evaluation: Evaluation) -> Iterator[str]:
    """What is learned against the base in the run of the test half: asked, and in all corpora."""
    all_corpora = scores(
        evaluation.runs, evaluation.qrels, list(evaluation.configs), measures=(NDCG,)
    )
    for values in (evaluation.scores.filter(pl.col("measure") == NDCG), all_corpora):
        one = comparison(values, evaluation.configs[0]).row(0, named=True)
        yield f"{one['difference']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}], p {one['p']:.3f}"


def splits(name: str, seeds: range) -> Iterator[tuple[tuple[float, bool], tuple[float, bool]]]:
    """For each split: the gain on the test half in both modes, and whether anything changed."""
    judged, all_corpora, groups = found(name)
    base = base_parameters(load_config("default"), judged)
    for seed in seeds:
        training, test = weight_fitting.halves(groups, seed=seed)
        learned = weight_fitting.learn(
            together(judged.part(training), all_corpora.part(training)),
            [groups[number] for number in training.tolist()] * 2,
            base,
            list(base),
            seed=seed,
        )
        gains = []
        for candidates in (judged.part(test), all_corpora.part(test)):
            before = weight_fitting.ndcg(candidates, base)
            gains.append(
                float((weight_fitting.ndcg(candidates, learned.parameters) - before).mean())
            )
        changed = learned.strength is not None
        yield (gains[0], changed), (gains[1], changed)


def _spread(values: Floats) -> str:
    return f"{values.mean():+.3f} [{values.min():+.3f}, {values.max():+.3f}]"


if __name__ == "__main__":
    main()
