"""Evaluations of the small judged collection."""

from __future__ import annotations

from typing import Any

import polars as pl

from dataflow import load_config
from dataflow.evaluation.graph import evaluate
from operators.evaluation.evaluation_frames import Evaluation

DEFAULT = load_config("default")


def asked(judged: Any, configs: dict[str, Any] | None = None, **options: Any) -> Evaluation:
    """What the configurations find; by default a few documents, and few resamples."""
    options = {"depth": 5, **options}
    return evaluate(
        judged.store,
        configs or {"default": DEFAULT},
        options.pop("queries", judged.queries),
        options.pop("qrels", judged.qrels),
        embedder=judged.embedder,
        **options,
    )


def documents(evaluation: Evaluation, query: str, config: str = "default") -> list[str]:
    """The run of one query."""
    part = evaluation.runs.filter(pl.col("config") == config, pl.col("query_id") == query)
    return part.sort("rank")["doc_id"].to_list()
