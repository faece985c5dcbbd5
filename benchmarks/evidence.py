"""Whether strong evidence is right more often than partial: the reliability of the levels.

    python -m benchmarks.evidence short secp pytest

Right: one of the first five documents is relevant. The questions of a set are asked of the corpora
that they name, and where a set has several corpora, of all of them too.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from benchmarks.judged import JudgedSet, document_run, judged_set
from benchmarks.quality import opened
from dataflow import RetrievalDriver, build_driver, load_config
from dataflow.evaluation.answers import for_evaluation
from operators.embedding.registry import load_embedder
from operators.frames import EVIDENCE

FIRST = 5
EDGES = (0.32, 0.36, 0.40, 0.44, 0.48)
"""Borders of sureness that the reliability is shown between."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    options = parser.parse_args()
    settings = for_evaluation(load_config("default"))
    embedder = load_embedder(settings.embedding)
    between = [f"< {EDGES[0]:.2f}", *(f"{edge:.2f} on" for edge in EDGES)]
    print(
        "| set | right | AUC | strong: share, right | partial | weak | "
        + " | ".join(between)
        + " |"
    )
    print("|---|---|---|---|---|---|" + "---|" * len(between))
    for name in options.sets:
        judged = judged_set(name)
        with (
            opened(judged, embedder) as store,
            build_driver(settings, name, store=store, embedder=embedder) as driver,
        ):
            every = judged.queries.with_columns(corpora=pl.lit(None, pl.List(pl.String)))
            print(row(name, rightness(driver, judged, judged.queries)), flush=True)
            if judged.several():
                print(row(f"{name}, all corpora", rightness(driver, judged, every)), flush=True)


def rightness(driver: RetrievalDriver, judged: JudgedSet, queries: pl.DataFrame) -> pl.DataFrame:
    """``EVIDENCE`` of each judged query, and whether one of its first documents is relevant."""
    out = driver.execute(["unique", "evidence_level"], overrides={"queries": queries})
    placed = out["unique"].select("chunk_id", "document_id").unique()
    run = document_run(out["unique"], placed, judged)
    first = run.sort("query_id", "score", descending=[False, True]).group_by("query_id").head(FIRST)
    relevant = pl.DataFrame(
        [(one.query_id, one.doc_id) for one in judged.qrels if one.relevance > 0],
        schema=["name", "doc_id"],
        orient="row",
    )
    right = first.join(relevant, left_on=["query_id", "doc_id"], right_on=["name", "doc_id"])
    names = pl.col("query_id").replace_strict(judged.names, return_dtype=pl.String)
    known = out["evidence_level"].with_columns(name=names)
    known = known.filter(pl.col("name").is_in(relevant["name"].unique().implode()))
    hit = pl.col("name").is_in(right["query_id"].unique().implode())
    return known.select(*EVIDENCE, right=hit)


def row(name: str, told: pl.DataFrame) -> str:
    cells = [f"{name} ({told.height})", _mean(told["right"]), f"{auc(told):.2f}"]
    for level in ("strong", "partial", "weak"):
        own = told.filter(evidence=level)
        cells.append(f"{own.height / max(told.height, 1):.2f}, {_mean(own['right'])}")
    sure = told.filter(pl.col("sureness").is_not_null())
    bins = np.searchsorted(EDGES, sure["sureness"].to_numpy(), side="right")
    for place in range(len(EDGES) + 1):
        own = sure.filter(pl.Series(bins == place, dtype=pl.Boolean))
        cells.append(f"{_mean(own['right'])} ({own.height})")
    return "| " + " | ".join(cells) + " |"


def auc(told: pl.DataFrame) -> float:
    """How often a right query has more sureness than one that is not; .5 is chance."""
    sure = told.drop_nulls("sureness")
    good = sure.filter("right")["sureness"].to_numpy()[:, None]
    bad = sure.filter(~pl.col("right"))["sureness"].to_numpy()[None]
    if not good.size or not bad.size:
        return float("nan")
    return float((good > bad).mean() + (good == bad).mean() / 2)


def _mean(values: pl.Series) -> str:
    return "-" if values.is_empty() else f"{float(values.cast(pl.Float64).mean() or 0):.2f}"


if __name__ == "__main__":
    main()
