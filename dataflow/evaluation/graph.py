"""The experiment graph, built and run: from files and configurations to an :class:`Evaluation`."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
from hamilton.driver import Driver

from dataflow.configuration.config_model import Config
from dataflow.evaluation import comparisons, runs
from dataflow.execution.built_graph import build
from dataflow.execution.hamilton_logs import quiet_hamilton
from operators.embedding.protocol import Embedder
from operators.embedding.registry import load_embedder
from operators.errors import CrosscorpusError
from operators.evaluation.evaluation_frames import Evaluation
from operators.evaluation.judgements import read_qrels, read_queries
from operators.postgres.store import ModelMismatch, Store, collection_info

MODULES: tuple[ModuleType, ...] = (runs, comparisons)
_FIELDS = (
    *("qrels", "runs", "scores", "corpus_scores", "summary", "comparison", "changed"),
    "notes",
)
"""The fields of :class:`Evaluation` that are nodes of the same name."""


def build_evaluation_graph() -> Driver:
    """The experiment graph without a server or a model."""
    return build(MODULES, {})


def evaluate(
    store: Store,
    configs: Mapping[str, Config],
    queries: Path | pl.DataFrame,
    qrels: Path | pl.DataFrame,
    *,
    embedder: Embedder | None = None,
    on: str | None = None,
    **options: Any,
) -> Evaluation:
    """Run judged queries with every configuration, and compare each with the first.

    Args:
        configs: by name; the first is the baseline.
        queries: see :func:`operators.evaluation.judgements.read_queries`; or its result.
        qrels: see :func:`operators.evaluation.judgements.read_qrels`; or its result.
        embedder: the collection's model; None: it is loaded.
        on: the Ray cluster that runs the queries (:func:`dataflow.evaluation.on_ray.connect`);
            each machine loads the configuration's own model; None: this process runs them.
        options: any parameter of the graph's nodes (``batch_size``, ...):
            measure_names: a tuple of names, see :func:`operators.evaluation.measures.scores`; the
                first decides which queries changed most.
            unit: what has a rank in a run: ``document``; ``file``: all documents of a
                repository and path, at the best rank; ``passage``: every chunk.
            depth: documents of each corpus in a run, at least; 0: a user's results.
            on_batch: is called with a configuration's name and the number of newly done queries.
            retrieval_inputs: a mapping of run-time inputs such as ``reranker`` or ``now``.

    Raises:
        JudgementError: a file can't be used.
        ModelMismatch: a configuration has another model than the collection.
        CrosscorpusError: a search failed, or the collection is not the judged one.
    """
    built = build_evaluation_graph()
    known = {node.name for node in built.graph.nodes.values() if node.user_defined}
    if unknown := sorted(options.keys() - known):
        raise CrosscorpusError(f"unknown option {unknown[0]!r} of an evaluation")
    if on:  # before any work, to fail early
        from dataflow.evaluation.on_ray import connect, runs_on_ray

        connect(on)
        options["elsewhere"] = runs_on_ray
    args = options | {"store": store, "configs": dict(configs), "baseline": next(iter(configs))}
    args["embedder"] = embedder or check_models(store, configs)
    args["given_queries"] = queries if isinstance(queries, pl.DataFrame) else read_queries(queries)
    args["given_qrels"] = qrels if isinstance(qrels, pl.DataFrame) else read_qrels(qrels)
    with quiet_hamilton():
        out = built.execute(["judged_queries", *_FIELDS], inputs=args)
    return Evaluation(
        configs=tuple(configs),
        queries=out["judged_queries"],
        **{name: out[name] for name in _FIELDS},
    )


def check_models(store: Store, configs: Mapping[str, Config]) -> Embedder:
    """The model that all configurations and the collection share.

    Raises:
        ModelMismatch: names the first configuration with another model.
    """
    loaded: dict[str, Embedder] = {}
    info = collection_info(store)
    for name, config in configs.items():
        model = config.embedding
        if model not in loaded:
            loaded[model] = load_embedder(model)
        if info.space is not None and loaded[model].space != info.space:
            raise ModelMismatch(
                f"configuration {name!r} embeds with {model!r}, and collection "
                f"{store.collection!r} holds vectors of {info.model!r}: evaluate it on a "
                f"collection that was ingested with --model {model}"
            )
    return next(iter(loaded.values()))
