"""The experiment graph, built and run: files and configurations in, an :class:`Evaluation` out."""

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
    *("titles", "timings", "notes"),
)
"""The fields of :class:`Evaluation` that are nodes of the same name."""


def build_evaluation_graph() -> Driver:
    """The experiment graph alone, without a server or a model."""
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
    """Have every configuration answer judged queries, and compare each with the first.

    Args:
        configs: by name; the first is what the others are compared with.
        queries: see :func:`operators.evaluation.judgements.read_queries`; or what it gives.
        qrels: see :func:`operators.evaluation.judgements.read_qrels`; or what it gives.
        embedder: the collection's model; None: it is loaded.
        on: the Ray cluster that asks (:func:`dataflow.evaluation.on_ray.connect`), where each
            machine loads the configuration's own model; None: this process asks.
        options: any parameter of the graph's nodes (``batch_size``, ``resamples``, ``seed``, ...):
            measure_names: a tuple of names, see :func:`operators.evaluation.measures.scores`; the
                first decides which queries changed most.
            unit: what takes a place in a run: ``document``; ``file``: all documents of a
                repository and path, at the best; ``passage``: every chunk.
            depth: documents of each corpus in a run, at least; 0: what a user would get.
            alternates: ``expand``: a near-duplicate that dedup dropped follows its
                representative; ``drop``: it is left out.
            all_corpora: judge the documents of every corpus, also where a query names its corpora.
            vectors_directory: keeps the vectors of the queries from one evaluation to the next.
            on_batch: takes a configuration's name and how many more queries are done.
            retrieval_inputs: a mapping of run-time inputs such as ``reranker`` or ``now``.

    Raises:
        JudgementError: a file can't be used.
        ModelMismatch: a configuration has another model than the collection.
        CrosscorpusError: a search failed, or the collection is not what was judged.
    """
    built = build_evaluation_graph()
    known = {node.name for node in built.graph.nodes.values() if node.user_defined}
    if unknown := sorted(options.keys() - known):
        raise CrosscorpusError(f"unknown option {unknown[0]!r} of an evaluation")
    if on:  # before any work, for what it says
        from dataflow.evaluation.on_ray import answers_on_ray, connect

        connect(on)
        options["elsewhere"] = answers_on_ray
    given = options | {"store": store, "configs": dict(configs), "baseline": next(iter(configs))}
    given["embedder"] = embedder or check_models(store, configs)
    given["given_queries"] = queries if isinstance(queries, pl.DataFrame) else read_queries(queries)
    given["given_qrels"] = qrels if isinstance(qrels, pl.DataFrame) else read_qrels(qrels)
    with quiet_hamilton():
        found = built.execute(["judged_queries", "holdings", *_FIELDS], inputs=given)
    return Evaluation(
        configs=tuple(configs),
        queries=found["judged_queries"],
        collection={"name": store.collection, "documents": dict(found["holdings"].documents)},
        **{name: found[name] for name in _FIELDS},
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
