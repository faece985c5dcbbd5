"""Learns weights on half of the judged queries, and measures them on the other half in real runs.

The searches of the training half run once, in every corpus. Each query counts twice: once with the
hits of the corpora that it judges ("asked"), once with the hits of every corpus ("all corpora").
The weights of corpora are learned from the second, where the corpora compete. The fit works on
these hits. It writes an experiment file, and a real run measures it like any other experiment.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl
import yaml

from dataflow.configuration.config_model import Config
from dataflow.configuration.hamilton_config import hamilton_config, in_corpus
from dataflow.driver.retrieval_driver import build_driver
from dataflow.evaluation.answers import (
    BATCH_SIZE,
    check_corpora,
    embed_judged_queries,
    for_evaluation,
    overrides_of,
    questions,
)
from dataflow.evaluation.graph import check_models, evaluate
from operators.embedding.protocol import Embedder
from operators.evaluation import weight_fitting
from operators.evaluation.candidates import Candidates, CorpusSearch, candidates, together
from operators.evaluation.evaluation_frames import Evaluation, measures_of
from operators.evaluation.judgements import check_judged
from operators.postgres.store import Store, collection_info
from operators.ranking.lexical_weight import match_weights
from operators.ranking.weighting import language_factors

_BY_SCORE = {"variants": {"fused": "comb_sum", "normalized": "common_scale", "merged": "convex"}}
_SHARED = ("full_weight_terms", "missing_score_fraction")


@dataclass(frozen=True)
class FitResult:
    """The learned parameters, their start, and their scores on unseen queries."""

    learned: weight_fitting.Learned
    base: weight_fitting.Parameters
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
    all_corpora: bool = False,
    depth: int = 100,
    embedder: Embedder | None = None,
    on_batch: Callable[[str, int], object] | None = None,
) -> FitResult:
    """Fit the fusion's weights to judged queries: those of scores (``merged: convex``).

    They are ``full_weight_terms``, ``missing_score_fraction``, the vector
    weights, and the corpus weights by trigger.

    Args:
        config: the start of the fit.
        queries: columns ``JUDGED_QUERIES``; those with the same ``group`` are on one side.
        qrels: columns ``QRELS``.
        extends: the name of the starting configuration in the experiment file.
        all_corpora, depth: of the test half, see :func:`dataflow.evaluation.graph.evaluate`; the
            training half counts both ways.
        embedder: as there.
        on_batch: is called with a name and the number of further finished queries.

    Raises:
        TooFewQueries: there are not enough to learn and to validate.
        JudgementError: no query has a judgement.
        CrosscorpusError: a search failed.
    """
    begin = config.with_changes(_BY_SCORE)
    judged, grades = check_judged(queries, qrels)
    check_corpora(judged, {"base": config})
    arguments: dict[str, Any] = {"on_batch": on_batch}
    arguments["embedder"] = embedder or check_models(store, {"base": config})
    groups = judged["group"].fill_null(judged["query_id"]).to_list()
    training, test = weight_fitting.halves(groups)
    judged_hits, every_corpus = fetched(store, begin, judged[training], grades, **arguments)
    base = base_parameters(begin, judged_hits)
    both, twice = together(judged_hits, every_corpus), [groups[at] for at in training.tolist()] * 2
    learned = weight_fitting.learn(both, twice, base, list(base))
    experiment = as_experiment(learned, base, config, extends)
    tried = config.with_changes({k: v for k, v in experiment.items() if k != "extends"})
    evaluation = evaluate(
        store,
        {"base": config, "learned": tried},
        *check_judged(judged[test], grades),
        all_corpora=all_corpora,
        depth=depth,
        **arguments,
    )
    return FitResult(learned, base, experiment, len(training), evaluation)


def base_parameters(config: Config, found: Candidates) -> weight_fitting.Parameters:
    """The parameters of ``config``, for the corpora and triggers of ``found``."""
    settings = hamilton_config(config)
    base = {name: float(settings[name]) for name in _SHARED}
    base |= {
        f"vector_weight.{name}": float(in_corpus(settings, name, "vector_weight"))
        for name in found.corpora
    }
    weights: Mapping[str, Mapping[str, float]] = settings["source_weights"]
    if settings["weighted_variant"] == "by_trigger" and len(found.corpora) > 1:
        base |= {
            f"weight.{name}.{trigger}": float(weights.get(name, {}).get(trigger, 1.0))
            for name in found.corpora
            for trigger in found.triggers
        }
    return base


def as_experiment(
    learned: weight_fitting.Learned,
    base: weight_fitting.Parameters,
    config: Config,
    extends: str,
) -> dict[str, Any]:
    """The content of an experiment file with the differences from ``config``."""
    experiment: dict[str, Any] = {"extends": extends}
    if learned.strength is None:
        return experiment
    staged = config.with_changes(_BY_SCORE) != config
    corpora: dict[str, dict[str, Any]] = {}
    for name, value in learned.parameters.items():
        kind, _, rest = name.partition(".")
        if value == base[name] and not staged:
            continue
        if kind == "vector_weight":
            corpora.setdefault(rest, {})["parameters"] = {kind: value}
        elif kind == "weight":
            corpus, _, trigger = rest.rpartition(".")
            corpora.setdefault(corpus, {}).setdefault("weights", {})[trigger] = value
        else:
            whole = kind == "full_weight_terms"
            experiment.setdefault("parameters", {})[kind] = int(value) if whole else value
    if staged:
        experiment |= deepcopy(_BY_SCORE)
    if corpora:
        experiment["corpora"] = corpora
    return experiment


def experiment_text(result: FitResult, *, collection: str) -> str:
    """The experiment file with comments on how it was made."""
    test = result.evaluation.queries.height
    story = f"# Learned from {result.training} judged queries of collection {collection}.\n"
    if result.learned.strength is None:
        story += "# No change gained enough in cross-validation, so that nothing is changed.\n"
    else:
        gain, error = result.learned.gains[result.learned.strength]
        row = result.evaluation.comparison.filter(measure="nDCG@10").row(0, named=True)
        story += (
            f"# nDCG@10 in cross-validation: {gain:+.4f}, standard error {error:.4f}.\n"
            f"# On {test} queries it did not see: {row['difference']:+.4f} "
            f"[{row['low']:+.4f}, {row['high']:+.4f}], p = {row['p']:.4f}.\n"
        )
    return story + yaml.safe_dump(result.experiment, sort_keys=False, default_flow_style=None)


def fetched(
    store: Store,
    config: Config,
    judged: pl.DataFrame,
    qrels: pl.DataFrame,
    embedder: Embedder,
    *,
    on_batch: Callable[[str, int], object] | None = None,
) -> tuple[Candidates, Candidates]:
    """The hits of judged queries, for any weights: of the judged corpora, and of all corpora.

    The corpora are those of ``config`` that their collections have. ``judged`` has the columns
    ``JUDGED_QUERIES``, ``qrels`` has ``QRELS``.
    """
    chosen = hamilton_config(config)
    embeddings = embed_judged_queries(judged, embedder)
    columns = ["query_id", "corpus", "document_id", "vector_rank", "text_rank", "vector_distance"]
    columns += ["chunk_id", "repo", "start_line", "end_line"]
    parts, scales = [], []
    with build_driver(for_evaluation(config), store=store, embedder=embedder) as driver:
        infos = {name: collection_info(home.store) for name, home in driver.homes.items()}
        corpora = sorted(n for n, home in driver.homes.items() if home.corpus in infos[n].corpora)
        aged, scale = driver.node_with("AGED"), driver.node_with("SCORE_SCALE")
        for batch in questions(judged).iter_slices(BATCH_SIZE):
            overrides = overrides_of(driver, batch, embeddings)
            out = driver.execute([aged, scale], overrides=overrides)
            hits = out[aged]
            recency = hits["recency"] * language_factors(hits, config.languages)
            parts.append(hits.select(*columns, "text_score", recency))
            scales.append(out[scale])
            if on_batch:
                on_batch("training", batch.height)
    hits, grades = pl.concat(parts), qrels.join(judged, on="query_id", how="semi")
    nothing = judged.select(query_id="number", lexical_weight=pl.lit(0.0))
    margin = chosen["lexical_margin"]
    match = match_weights(nothing, pl.concat(scales), margin=margin)["lexical_weight"]
    searched = {
        name: CorpusSearch(in_corpus(chosen, name, "search_depth"), space=infos[name].space)
        for name in corpora
    }
    ready = partial(candidates, hits, judged, grades, searched, match=match)
    return ready(), ready(all_corpora=True)
