"""Learns weights on half of the judged queries, and measures them on the other half.

Both are real runs of the graph. On the training half the searches run once: from one setting to the
next only the changed nodes run (``what_if``). Each query counts twice: once with the documents of
the corpora that it judges ("asked"), once with those of every corpus ("all corpora"), where the
corpora compete.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import yaml

from dataflow.configuration.config_model import Config, merge
from dataflow.configuration.hamilton_config import hamilton_config, in_corpus
from dataflow.configuration.overrides import setting_changes, with_settings
from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver
from dataflow.driver.trace import Trace
from dataflow.evaluation.answers import (
    BATCH_SIZE,
    as_run,
    by_number,
    check_corpora,
    documents_of,
    embed_judged_queries,
    for_evaluation,
    outputs,
    overrides_of,
    questions,
)
from dataflow.evaluation.graph import check_models, evaluate
from operators.arrays.segments import Floats
from operators.embedding.protocol import Embedder
from operators.evaluation.evaluation_frames import Evaluation, measures_of
from operators.evaluation.judgements import check_judged
from operators.evaluation.measures import scores
from operators.evaluation.ranked_documents import in_judged_corpora
from operators.evaluation.weight_fitting import Learned, Parameters, climb, halves
from operators.postgres.store import Store, collection_info

MEASURE = "nDCG@10"


@dataclass(frozen=True)
class FitResult:
    """The learned parameters, and their scores on unseen queries."""

    learned: Learned
    experiment: dict[str, Any]  # as a configuration file; only ``extends`` if nothing gained
    training: int  # queries
    evaluation: Evaluation  # of the test half; the first configuration is the starting one

    @property
    def loss(self) -> str:
        """The loss in the first measure on the test half, as a clause; "" if there is none."""
        measure = measures_of(self.evaluation.summary)[0]
        change = self.evaluation.comparison.filter(measure=measure)
        (difference,) = change["difference"] if change.height else (0.0,)
        return f"{measure} is {-difference:.3f} lower" if difference < 0 else ""


def learn(
    store: Store,
    config: Config,
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    *,
    extends: str = "default",
    depth: int = 100,
    embedder: Embedder | None = None,
    on_batch: Callable[[str, int], object] | None = None,
) -> FitResult:
    """Fit the weights of ``config`` to judged queries.

    They are ``full_weight_terms``, ``missing_score_fraction``, the vector weights, and the corpus
    weights by trigger.

    Args:
        config: the start of the fit.
        queries: columns ``JUDGED_QUERIES``; those with the same ``group`` are on one side.
        qrels: columns ``QRELS``.
        extends: the name of the starting configuration in the experiment file.
        depth: of the test half, see :func:`dataflow.evaluation.graph.evaluate`.
        embedder: as there.
        on_batch: is called with a name and the number of further finished queries.

    Raises:
        TooFewQueries: there are not enough to learn and to validate.
        JudgementError: no query has a judgement.
        CrosscorpusError: a search failed.
    """
    judged, grades = check_judged(queries, qrels)
    check_corpora(judged, {"base": config})
    model = embedder or check_models(store, {"base": config})
    groups = judged["group"].fill_null(judged["query_id"]).to_list()
    training, test = halves(groups)
    learned = fit(store, config, *check_judged(judged[training], grades), model, on_batch=on_batch)
    experiment: dict[str, Any] = {"extends": extends}
    for name, value in learned.changed.items():
        experiment = merge(experiment, setting_changes(config, name, value))
    evaluation = evaluate(
        store,
        {"base": config, "learned": with_settings(config, learned.changed)},
        *check_judged(judged[test], grades),
        depth=depth,
        embedder=model,
        on_batch=on_batch,
    )
    return FitResult(learned, experiment, len(training), evaluation)


def fit(
    store: Store,
    config: Config,
    judged: pl.DataFrame,
    qrels: pl.DataFrame,
    embedder: Embedder,
    *,
    on_batch: Callable[[str, int], object] | None = None,
) -> Learned:
    """The weights that gain on all of these queries (``JUDGED_QUERIES``; ``qrels``: ``QRELS``)."""
    base, embeddings = for_evaluation(config), embed_judged_queries(judged, embedder)
    with build_driver(base, store=store, embedder=embedder) as driver:
        start = parameters(driver, judged)
        traces = [
            driver.trace(outputs(driver), overrides=overrides_of(driver, batch, embeddings))
            for trigger in questions(judged).partition_by("trigger", maintain_order=True)
            for batch in trigger.iter_slices(BATCH_SIZE)
        ]
        steps = np.linspace(0, judged.height, len(start) + 1, dtype=np.int64)
        shares = iter(np.diff(steps).tolist())
        return climb(
            partial(_run, driver, judged, qrels),
            start,
            traces,
            on_step=lambda: on_batch and on_batch("training", next(shares)),
        )


def parameters(driver: RetrievalDriver, judged: pl.DataFrame) -> dict[str, float]:
    """What is fitted, by the names of settings, at its start: of the corpora that have documents,
    and of the triggers of the queries."""
    config, settings = driver.config, hamilton_config(driver.config)
    corpora = [
        name
        for name, home in sorted(driver.homes.items())
        if home.corpus in collection_info(home.store).corpora
    ]
    start = {name: settings[name] for name in ("full_weight_terms", "missing_score_fraction")}
    start |= {f"{c}.vector_weight": in_corpus(settings, c, "vector_weight") for c in corpora}
    for trigger in judged["trigger"].drop_nulls().unique().sort() if len(corpora) > 1 else ():
        for name in corpora:
            weights = config.corpora[name].weights
            start[f"{name}.weights.{trigger}"] = weights.get(trigger, 1.0)
    return start


def _run(
    driver: RetrievalDriver,
    judged: pl.DataFrame,
    qrels: pl.DataFrame,
    tried: Parameters,
    traces: Sequence[Trace],
) -> tuple[Floats, list[Trace]]:
    """The measure of each query with the parameters ``tried``, and the traces of these runs.

    ``traces``: those of other parameters; a query counts by the mean of its two ways.
    """
    config = with_settings(driver.config, tried)
    runs = [driver.what_if(trace, config) for trace in traces]
    names = by_number(qrels, judged)
    whole = pl.concat([documents_of(trace, names) for trace in runs])
    every = as_run(whole, judged, MEASURE)
    both = [
        scores(run, qrels, [MEASURE], measures=[MEASURE])["value"].to_numpy()
        for run in (in_judged_corpora(every, judged), every)
    ]
    return np.mean(both, axis=0), runs


def experiment_text(result: FitResult, *, collection: str) -> str:
    """The experiment file with comments on how it was made."""
    test, learned = result.evaluation.queries.height, result.learned
    story = f"# Learned from {result.training} judged queries of collection {collection}.\n"
    if not learned.changed:
        story += "# No change gained more than its standard error, so that nothing is changed.\n"
    else:
        row = result.evaluation.comparison.filter(measure=MEASURE).row(0, named=True)
        story += (
            f"# {MEASURE} on them: {learned.gain:+.4f}, standard error {learned.error:.4f}.\n"
            f"# On {test} queries it did not see: {row['difference']:+.4f} "
            f"[{row['low']:+.4f}, {row['high']:+.4f}], p = {row['p']:.4f}.\n"
        )
    return story + yaml.safe_dump(result.experiment, sort_keys=False, default_flow_style=None)
