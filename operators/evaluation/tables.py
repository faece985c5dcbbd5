"""The tables of an evaluation as plain data, as rows of text, as a frame for a spreadsheet."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from operators.evaluation.evaluation_frames import Evaluation, measures_of

SIGNIFICANT = 0.05


def per_query(evaluation: Evaluation) -> pl.DataFrame:
    """One row per query and configuration: its kind, trigger and text, and a column per measure."""
    about = evaluation.queries.select("query_id", "number", "kind", "trigger", "text")
    return (
        evaluation.scores.pivot("measure", index=["config", "query_id"], values="value")
        .join(about, on="query_id")
        .sort(pl.col("config").cast(pl.Enum(evaluation.configs)), "number")
        .select("config", *about.drop("number").columns, *measures_of(evaluation.scores))
    )


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """The tables as plain data; runs and per-query values go to other files."""
    return {
        "configs": list(evaluation.configs),
        "baseline": evaluation.configs[0],
        "queries": evaluation.queries.height,
        "judgements": evaluation.qrels.height,
        "notes": list(evaluation.notes),
        "summary": evaluation.summary.to_dicts(),
        "comparison": evaluation.comparison.to_dicts(),
        "changed": evaluation.changed.to_dicts(),
    }


def slice_rows(evaluation: Evaluation, name: str) -> list[list[str]]:
    """One row per configuration: its name, then each measure's mean and interval."""
    rows = evaluation.summary.filter(slice=name)
    values = {(row["config"], row["measure"]): row for row in rows.iter_rows(named=True)}
    return [
        [config, *(_mean(values.get((config, m))) for m in measures_of(evaluation.summary))]
        for config in evaluation.configs
    ]


def _mean(row: dict[str, Any] | None) -> str:
    return "" if row is None else f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def comparison_rows(evaluation: Evaluation) -> list[list[str]]:
    """One row per configuration and measure; a star marks a significant difference."""
    return [
        [
            row["config"],
            row["measure"],
            f"{row['difference']:+.3f}{' *' if is_significant(row) else ''}",
            f"[{row['low']:+.3f}, {row['high']:+.3f}]",
            _p(row["p"]),
            _p(row["p_corrected"]),
            f"{row['wins']} / {row['ties']} / {row['losses']}",
        ]
        for row in evaluation.comparison.iter_rows(named=True)
    ]


def slice_meaning(name: str) -> str:
    """What a slice ranks, if other documents than the table of all queries does; else ``""``."""
    if name == "all corpora":
        return "the documents of every corpus in one list, even for a query that names its corpora"
    if name.startswith("corpus="):
        return "only that corpus's documents, ranked without others, for queries that judge any"
    return ""


def is_significant(row: Mapping[str, Any]) -> bool:
    """Whether the corrected p of a row of ``COMPARISON`` is below the level."""
    return bool(row["p_corrected"] < SIGNIFICANT)


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
