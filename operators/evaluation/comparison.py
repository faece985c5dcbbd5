"""Means with intervals, and every configuration against a baseline."""

import numpy as np
import polars as pl

from operators.arrays.segments import Floats
from operators.evaluation import statistics
from operators.evaluation.evaluation_frames import CHANGED, COMPARISON, SUMMARY, measures_of

MOST_LISTED = 10


def summary(
    scores: pl.DataFrame,
    corpus_scores: pl.DataFrame,
    queries: pl.DataFrame,
    *,
    all_corpora_scores: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """``SUMMARY``: the mean of each measure with its interval, over all queries and each slice.

    The slices are: all, judged in several corpora, all corpora in one list
    (``all_corpora_scores``), corpora, kinds, triggers; one of all queries, or of none, is left out.
    """
    several = queries.filter(pl.col("corpora").list.len() > 1)
    parts = [
        ("all", scores),
        ("several corpora", scores.join(several, on="query_id", how="semi")),
    ]
    if all_corpora_scores is not None and all_corpora_scores.height:
        parts.append(("all corpora", all_corpora_scores))
    parts += [
        (f"corpus={corpus}", corpus_scores.filter(corpus=corpus))
        for corpus in corpus_scores["corpus"].unique().sort()
    ]
    for field in ("kind", "trigger"):
        for name in queries[field].drop_nulls().unique().sort():
            subset = scores.join(queries.filter(pl.col(field) == name), on="query_id", how="semi")
            parts.append((f"{field}={name}", subset))
    every = scores["query_id"].n_unique()
    rows: list[tuple[object, ...]] = []
    for name, part in parts:
        whole = name.startswith(("kind=", "trigger=", "several"))
        count = part["query_id"].n_unique()
        if count and not (whole and count == every):
            rows += _means(part, name)
    return pl.DataFrame(rows, schema=SUMMARY, orient="row")


def _means(scores: pl.DataFrame, name: str) -> list[tuple[object, ...]]:
    columns, values = _table(scores)
    low, high = statistics.bootstrap_means(values)
    means, queries = values.mean(axis=0), len(values)
    return [
        (*column, name, queries, float(means[at]), float(low[at]), float(high[at]))
        for at, column in enumerate(columns)
    ]


def _table(scores: pl.DataFrame) -> tuple[list[tuple[str, str]], Floats]:
    """(config, measure) of each column, and the values with one row a query, by its id."""
    configs = scores["config"].unique(maintain_order=True).to_list()
    columns = [(config, measure) for measure in measures_of(scores) for config in configs]
    ordered = scores.sort("query_id").partition_by("config", "measure", as_dict=True)
    return columns, np.column_stack([ordered[column]["value"].to_numpy() for column in columns])


def comparison(scores: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """``COMPARISON``: every other configuration against ``baseline``, query by query.

    By configuration and measure; p is corrected over all rows. Values within 1e-9 are a tie.
    """
    columns, values = _table(scores)
    index = {column: at for at, column in enumerate(columns)}
    configs = [c for c in scores["config"].unique(maintain_order=True) if c != baseline]
    pairs = [(config, measure) for config in configs for measure in measures_of(scores)]
    if not pairs:
        return pl.DataFrame(schema=COMPARISON)
    differences = np.column_stack(
        [values[:, index[pair]] - values[:, index[baseline, pair[1]]] for pair in pairs]
    )
    differences[np.abs(differences) < 1e-9] = 0.0
    low, high = statistics.bootstrap_means(differences)
    p = statistics.randomisation_p(differences)
    named = {
        "config": [config for config, _ in pairs],
        "baseline": [baseline] * len(pairs),
        "measure": [measure for _, measure in pairs],
        "difference": differences.mean(axis=0),
        "low": low,
        "high": high,
        "p": p,
        "p_corrected": statistics.holm(p),
        "wins": (differences > 0).sum(axis=0),
        "ties": (differences == 0).sum(axis=0),
        "losses": (differences < 0).sum(axis=0),
    }
    return pl.DataFrame(named).cast(COMPARISON)


def changed(
    scores: pl.DataFrame,
    runs: pl.DataFrame,
    queries: pl.DataFrame,
    baseline: str,
    *,
    most: int = 10,
) -> pl.DataFrame:
    """``CHANGED``: the queries whose score by the first measure moved most, with both lists.

    By configuration, at most ``most`` each; the largest change first, then by query_id. A query
    that did not change is not listed.
    """
    one = scores.filter(measure=measures_of(scores)[0])
    before = one.filter(config=baseline).select("query_id", before="value")
    moved = (
        one.filter(pl.col("config") != baseline)
        .select("config", "query_id", after="value")
        .join(before, on="query_id")
        .with_columns(size=(pl.col("after") - pl.col("before")).abs())
        .filter(pl.col("size") >= 1e-9)
    )
    order = pl.Enum(scores["config"].unique(maintain_order=True))
    picked = (
        moved.sort(pl.col("config").cast(order), -pl.col("size"), "query_id")
        .group_by("config", maintain_order=True)
        .head(most)
    )
    lists = (
        runs.filter(pl.col("rank") < MOST_LISTED)
        .join(picked, on="query_id", how="semi")
        .sort("config", "query_id", "rank")
        .group_by("config", "query_id", maintain_order=True)
        .agg(documents="doc_id")
    )
    first = lists.filter(config=baseline).select("query_id", before_list="documents")
    return (
        picked.join(queries.select("query_id", "text"), on="query_id", maintain_order="left")
        .join(first, on="query_id", how="left", maintain_order="left")
        .join(lists, on=["config", "query_id"], how="left", maintain_order="left")
        .with_columns(
            pl.col("before_list").fill_null([]), after_list=pl.col("documents").fill_null([])
        )
        .select(list(CHANGED))
    )
