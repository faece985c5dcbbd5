"""The nodes from runs to measures, their intervals and the comparison of the configurations."""

import polars as pl
from hamilton.function_modifiers import tag

from dataflow.configuration.config_model import Config
from operators.evaluation import comparison as compared
from operators.evaluation import measures
from operators.evaluation.evaluation_frames import MEASURES, SCORES
from operators.evaluation.notes import evaluation_notes, few_queries_note
from operators.frames import empty


@tag(stage="measures")
def scores(
    judged_runs: pl.DataFrame,
    qrels: pl.DataFrame,
    configs: dict[str, Config],
    measure_names: tuple[str, ...] = MEASURES,
) -> pl.DataFrame:
    """The value of each measure for each query and configuration."""
    return measures.scores(judged_runs, qrels, list(configs), measures=measure_names)


@tag(stage="measures")
def all_corpora_scores(
    runs: pl.DataFrame,
    judged_queries: pl.DataFrame,
    qrels: pl.DataFrame,
    configs: dict[str, Config],
    measure_names: tuple[str, ...] = MEASURES,
) -> pl.DataFrame:
    """The same measures over all corpora in one list, as for a user who names no corpus."""
    if judged_queries["corpora"].is_null().all():
        return empty(SCORES)
    return measures.scores(runs, qrels, list(configs), measures=measure_names)


@tag(stage="measures")
def corpus_scores(
    runs: pl.DataFrame,
    judged_queries: pl.DataFrame,
    qrels: pl.DataFrame,
    homes: pl.DataFrame,
    configs: dict[str, Config],
    measure_names: tuple[str, ...] = MEASURES,
) -> pl.DataFrame:
    """The same measures over the documents of one corpus at a time."""
    return measures.corpus_scores(
        runs, judged_queries, qrels, homes, list(configs), measures=measure_names
    )


@tag(stage="comparison")
def summary(
    scores: pl.DataFrame,
    corpus_scores: pl.DataFrame,
    all_corpora_scores: pl.DataFrame,
    judged_queries: pl.DataFrame,
) -> pl.DataFrame:
    """Means with their intervals, over all queries and over each slice."""
    return compared.summary(
        scores, corpus_scores, judged_queries, all_corpora_scores=all_corpora_scores
    )


@tag(stage="comparison")
def comparison(scores: pl.DataFrame, baseline: str) -> pl.DataFrame:
    """Every configuration compared with the first, query by query."""
    return compared.comparison(scores, baseline)


@tag(stage="comparison")
def changed(
    scores: pl.DataFrame,
    judged_runs: pl.DataFrame,
    judged_queries: pl.DataFrame,
    baseline: str,
) -> pl.DataFrame:
    """The queries that changed most, with both lists."""
    return compared.changed(scores, judged_runs, judged_queries, baseline)


@tag(stage="comparison")
def notes(
    given_queries: pl.DataFrame,
    given_qrels: pl.DataFrame,
    judged_queries: pl.DataFrame,
    qrels: pl.DataFrame,
    homes: pl.DataFrame,
    judged_runs: pl.DataFrame,
    configs: dict[str, Config],
    comparison: pl.DataFrame,
) -> tuple[str, ...]:
    """Notes for a reader of the numbers."""
    usual = (config.usual_trigger for config in configs.values())
    notes = evaluation_notes(
        given_queries,
        given_qrels,
        judged_queries,
        qrels,
        homes,
        judged_runs,
        list(configs),
        usual_trigger=next(filter(None, usual), None),
    )
    compared = comparison.height
    few = few_queries_note(judged_queries.height, compared) if compared else []
    return (*notes, *few)
