"""A measure over a grid of settings; a node that no setting affects runs once per batch.

The queries go through the graph batch by batch, and each batch through every combination. From one
combination to the next only the changed nodes run (``what_if``), so a search runs again only
if a setting changes its arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dataflow.configuration.config_model import Config
from dataflow.configuration.overrides import with_settings
from dataflow.driver.retrieval_driver import RetrievalDriver, build_driver
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
from dataflow.evaluation.graph import check_models
from operators.embedding.protocol import Embedder
from operators.evaluation.comparison import comparison, summary
from operators.evaluation.evaluation_frames import CORPUS_SCORES, SCORES
from operators.evaluation.grid import grid, point_name, sweep_table
from operators.evaluation.judgements import check_judged
from operators.evaluation.measures import scores
from operators.evaluation.ranked_documents import in_judged_corpora
from operators.postgres.store import Store

MEASURES = ("nDCG@10", "R@50")
UNCHANGED = "as configured"


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep: ``table`` as of :func:`operators.evaluation.grid.sweep_table`."""

    settings: tuple[str, ...]
    queries: int
    table: pl.DataFrame
    scores: pl.DataFrame  # SCORES; configurations are the combinations and UNCHANGED
    unchanged: dict[str, float]  # measure -> mean of the configuration without changes


def sweep(
    store: Store,
    config: Config,
    settings: Mapping[str, Sequence[Any]],
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    *,
    embedder: Embedder | None = None,
    measures: Sequence[str] = MEASURES,
    batch_size: int = BATCH_SIZE,
    on_batch: Callable[[int], object] | None = None,
) -> Sweep:
    """Measure every combination of ``settings``.

    Lists are those of a user, without a second search at greater depth. So recall too shows
    the cost of a setting.

    Args:
        config: the base of the settings, and the baseline of every combination.
        settings: values by name, as of :func:`dataflow.configuration.overrides.with_setting`.
        queries: columns ``JUDGED_QUERIES``.
        qrels: columns ``QRELS``.
        embedder: see :func:`dataflow.evaluation.graph.evaluate`.
        on_batch: is called with the number of further queries finished with all combinations.

    Raises:
        UnknownName: no parameter or stage has a setting's name.
        CrosscorpusError: no query has a judgement, or a search failed.
    """
    points = grid(settings)
    tried = {point_name(one): for_evaluation(with_settings(config, one)) for one in points}
    queries, judged = check_judged(queries, qrels)
    check_corpora(queries, {"": config})
    model = embedder or check_models(store, {UNCHANGED: config})
    embedded = embed_judged_queries(queries, model)
    names, compared = by_number(judged, queries), [UNCHANGED, *map(point_name, points)]
    parts = [pl.DataFrame(schema=SCORES)]
    with build_driver(for_evaluation(config), store=store, embedder=model) as driver:
        for batch in questions(queries).iter_slices(batch_size):
            runs = _batch_runs(driver, overrides_of(driver, batch, embedded), tried, queries, names)
            runs = in_judged_corpora(runs, queries)
            here = queries.join(batch, left_on="number", right_on="query_id", how="semi")
            graded = judged.join(here, on="query_id", how="semi", maintain_order="left")
            parts.append(scores(runs, graded, compared, measures=measures))
            if on_batch:
                on_batch(batch.height)
    values = pl.concat(parts)
    means = summary(values, pl.DataFrame(schema=CORPUS_SCORES), queries)
    plain = means.filter(config=UNCHANGED, slice="all")
    return Sweep(
        settings=tuple(settings),
        queries=queries.height,
        table=sweep_table(points, means, comparison(values, UNCHANGED)),
        scores=values,
        unchanged=dict(plain.select("measure", "mean").iter_rows()),
    )


def _batch_runs(
    driver: RetrievalDriver,
    overrides: dict[str, Any],
    configs: Mapping[str, Config],
    queries: pl.DataFrame,
    judged: pl.DataFrame,
) -> pl.DataFrame:
    """The runs of one batch, of the driver's configuration and of ``configs``."""
    trace = driver.trace(outputs(driver), overrides=overrides)
    runs = [as_run(documents_of(trace, judged), queries, UNCHANGED)]
    for name, config in configs.items():
        trace = driver.what_if(trace, config)
        runs.append(as_run(documents_of(trace, judged), queries, name))
    return pl.concat(runs)
