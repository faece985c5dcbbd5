"""What each choice of the default is worth: every experiment against it, on the judged sets.

    python -m benchmarks.choices SET [SET ...] > benchmarks/quality.md

A row is a shipped experiment that undoes one choice: the difference it makes to nDCG@10, with its
95 % bootstrap interval, asked (only judged corpora count) and blind (all do).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import polars as pl

from benchmarks.judged import NDCG, data_folder
from dataflow import load_config
from dataflow.evaluation.graph import evaluate
from operators.embedding.embedder import load_embedder
from operators.evaluation.comparison import comparison
from operators.evaluation.measures import scores
from operators.home import data_home
from operators.postgres.store import collection_info, open_store

CHOICES = {
    "full_text_weight": "`full_text_words: 8`: few plain words lean on the vectors",
    "vector_lean": "`vector_weight: 0.5`: meaning and words alike",
    "own_scale": "`own_scale: 0.5` instead of a scale for each corpus",
    "one_scale": "`own_scale: 0.5` instead of one scale for all corpora",
    "corpus_ranks": "`fused: convex` instead of ranks over corpora",
    "score_fusion": "`fused: convex` instead of the merged scores as they are",
    "min_max": "scores over the best of a list instead of min-max",
    "rrf": "scores instead of ranks, within and over corpora",
    "text_only": "vectors beside the words",
    "vector_only": "words beside the vectors",
    "plain_text_search": "`text_search: bm25` instead of Postgres's own ranking",
    "candidates_10": "`candidates: 50` instead of 10",
    "candidates_200": "`candidates: 50` instead of 200",
    "no_dedup": "`deduped: guarded`, `unique: guarded`",
    "jaccard_dedup": "copies by what they say instead of by their words alone",
    "no_weights": "`weighted: by_trigger`",
    "no_recency": "`recency: step`",
}


def main() -> None:
    print(INTRODUCTION)
    for name in sys.argv[1:]:
        for line in table(name):
            print(line, flush=True)


INTRODUCTION = """# What the default's choices are worth

Written by `python -m benchmarks.choices`. Each row undoes one choice by a shipped experiment: the
difference in nDCG@10 to the default and its 95 % bootstrap interval, p by paired randomisation and
Holm's correction over the rows; * where that is below 0.05. A negative number speaks for the
choice. Asked: of what all corpora give, only those that a query judges count; blind: all do."""


def table(name: str) -> Iterator[str]:
    folder = data_folder() / name / "dev"
    configs = {"default": load_config("default")} | {one: load_config(one) for one in CHOICES}
    embedder = load_embedder(configs["default"].embedding)
    with open_store(collection=name) as store:
        several = len(collection_info(store).corpora) > 1
        evaluation = evaluate(
            store,
            configs,
            folder / "queries.jsonl",
            folder / "qrels.tsv",
            embedder=embedder,
            depth=0,
            vectors_directory=data_home() / "query_vectors",
            measure_names=(NDCG,),
        )
    found = {"asked": evaluation.scores}
    if several:
        found["blind"] = scores(evaluation.runs, evaluation.qrels, list(configs), measures=(NDCG,))
    differences = {mode: comparison(values, "default") for mode, values in found.items()}
    yield f"\n## {name}: {evaluation.queries.height} queries\n"
    yield "| choice | undone by | " + " | ".join(found) + " |"
    yield "|---|---|" + "---|" * len(found)
    means = [one.filter(config="default")["value"].mean() for one in found.values()]
    yield "| the default | | " + " | ".join(f"{mean:.3f}" for mean in means) + " |"
    for experiment, choice in CHOICES.items():
        cells = [_cell(one, experiment) for one in differences.values()]
        yield f"| {choice} | `{experiment}` | " + " | ".join(cells) + " |"


def _cell(differences: pl.DataFrame, config: str) -> str:
    row = differences.filter(config=config).row(0, named=True)
    star = " *" if row["p_corrected"] < 0.05 else ""
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]{star}"


if __name__ == "__main__":
    main()
