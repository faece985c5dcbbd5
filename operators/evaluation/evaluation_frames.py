"""The schema of every frame of an evaluation, and all of them together.

A *run* is a configuration's ranked documents for the judged queries. A *measure* is one that
:mod:`operators.evaluation.measures` knows, such as ``MEASURES``. A *slice* is ``all``,
``several corpora`` (queries that judge more than one), ``kind=...`` or ``trigger=...`` (queries),
``corpus=...`` (documents of one), or ``all corpora`` (those of every corpus in one list, as for a
user who names none).
"""

from dataclasses import dataclass

import polars as pl

from operators.frames import UTC

MEASURES = ("nDCG@10", "R@50", "RR@10", "AP")

JUDGED_QUERIES = pl.Schema(
    {
        "query_id": pl.String(),  # the judgements' id
        "number": pl.UInt32(),  # query_id of the retrieval graph's frames; index in the file
        "texts": pl.List(pl.String),  # one query, in one or more phrasings
        "text": pl.String(),  # the first of them
        "kind": pl.String(),  # null: none given
        "trigger": pl.String(),  # a name; null: none
        "corpora": pl.List(pl.String),  # the judged corpora; null: all
        "repos": pl.List(pl.String),  # null: every repository
        "as_of": UTC,  # null: now
        "group": pl.String(),  # a fit keeps queries of one group together; null: none given
    }
)

QRELS = pl.Schema({"query_id": pl.String(), "doc_id": pl.String(), "grade": pl.Int64()})

RUN = pl.Schema(
    {
        "config": pl.String(),
        "query_id": pl.String(),
        "doc_id": pl.String(),
        "corpus": pl.String(),  # null in a run that was read from a file
        "rank": pl.UInt32(),  # 0-based
        "score": pl.Float64(),  # strictly decreasing with the rank
    }
)

SCORES = pl.Schema(
    {
        "config": pl.String(),
        "query_id": pl.String(),
        "measure": pl.String(),
        "value": pl.Float64(),  # 0..1; a query without results has 0
    }
)

CORPUS_SCORES = pl.Schema({**SCORES, "corpus": pl.String()})  # only that corpus's documents count

SUMMARY = pl.Schema(
    {
        "config": pl.String(),
        "measure": pl.String(),
        "slice": pl.String(),
        "queries": pl.UInt32(),
        "mean": pl.Float64(),
        "low": pl.Float64(),  # 95 % bootstrap interval of the mean
        "high": pl.Float64(),
    }
)

COMPARISON = pl.Schema(
    {
        "config": pl.String(),
        "baseline": pl.String(),
        "measure": pl.String(),
        "difference": pl.Float64(),  # mean over queries of config - baseline
        "low": pl.Float64(),  # 95 % bootstrap interval of the difference
        "high": pl.Float64(),
        "p": pl.Float64(),  # paired randomisation test, two-sided
        "p_corrected": pl.Float64(),  # Holm, over all rows of the table
        "wins": pl.UInt32(),
        "ties": pl.UInt32(),
        "losses": pl.UInt32(),
    }
)

CHANGED = pl.Schema(
    {
        "config": pl.String(),
        "query_id": pl.String(),
        "text": pl.String(),
        "before": pl.Float64(),  # the first measure, of the baseline
        "after": pl.Float64(),
        "before_list": pl.List(pl.String),  # doc_ids, best first, at most ten
        "after_list": pl.List(pl.String),
    }
)


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation, as frames; the first of ``configs`` is the baseline."""

    configs: tuple[str, ...]
    queries: pl.DataFrame  # JUDGED_QUERIES
    qrels: pl.DataFrame  # QRELS
    runs: pl.DataFrame  # RUN
    scores: pl.DataFrame  # SCORES
    corpus_scores: pl.DataFrame  # CORPUS_SCORES
    summary: pl.DataFrame  # SUMMARY
    comparison: pl.DataFrame  # COMPARISON
    changed: pl.DataFrame  # CHANGED
    notes: tuple[str, ...] = ()  # what a reader must know: failed searches, unjudged queries


def measures_of(frame: pl.DataFrame) -> list[str]:
    """The measures of a frame, in the order of :data:`MEASURES`, then in the frame's."""
    present = frame["measure"].unique(maintain_order=True).to_list()
    return [m for m in MEASURES if m in present] + [m for m in present if m not in MEASURES]
