"""Reports on a run: how the answer was computed, and why each passage has its rank.

A caller requests them by name, like nodes, but no node computes them: they read the results of the
run and nothing reads them, so that the graph has no node with a hundred inputs.

- ``provenance``: the searches, the settings, the counts, and what failed.
- ``explain_targets``: the chunks that a caller names (input ``explain_chunks``), found or not.
- ``dispositions``: for every result and every named chunk, its ranks and what decided them.
- ``explain``: every score and weight of every result and named chunk, one per row.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

import polars as pl
from hamilton.graph import FunctionGraph

from dataflow.configuration.catalog import Catalog
from dataflow.execution.plan import node_tags
from operators import frames
from operators.context import search_outcomes
from operators.context.labels import KEY as LABEL_KEY
from operators.context.labels import labelled, labels_of
from operators.explain import dispositions, steps
from operators.explain.explain_targets import find_targets
from operators.frames import DISPOSITIONS, EXPLAIN, EXPLAIN_TARGETS
from operators.postgres.store import with_many_repos
from operators.versions import version_choice

REPORTS = ("provenance", "explain_targets", "dispositions", "explain")
FRAMES = {"explain_targets": EXPLAIN_TARGETS, "dispositions": DISPOSITIONS, "explain": EXPLAIN}

_PROVENANCE_NODES = ("queries", "outcomes", "version_scope", "citations", "context_window")
_LABELLED_FROM = ("chunks", "corpus_settings", "collections")
_EXPLAINED = ("queries", "outcomes", "scoped_queries", "citations", "labels", *_LABELLED_FROM)


@dataclass(frozen=True)
class RankedLists:
    """The ranked lists of a graph in order, by the frames that their nodes declare.

    Attributes:
        corpus_lists: the nodes with the lists within the corpora, from the scores on.
        fused_lists: the nodes from the fused list to the results, and what each list is.
        pooled: the node with the hits of all corpora, before they are one list.
        passages: the node with the list that the context is packed from.
        packed: the node with the passages that the context has room for; "" without a context.
        signals: the node with what the rules say; "" without rules.
        ordered: the node with the list whose order they make.
    """

    corpus_lists: Sequence[str]
    fused_lists: Mapping[str, str]
    pooled: str
    passages: str
    packed: str
    signals: str
    ordered: str

    @property
    def counted(self) -> tuple[str, str, str]:
        """The fused list, the one before the results, and the results."""
        first, *_, last, results = self.fused_lists
        return first, last, results


def ranked_lists(graph: FunctionGraph, catalog: Catalog) -> RankedLists:
    """The lists that lead to the results and to the context.

    Lists within the corpora have the frames MERGED and DEDUPED, lists of all corpora FUSED, as the
    shipped nodes or a node's own tag ``frame`` declare.
    """
    results = {node.name: node for node in graph.get_upstream_nodes(["results"])[0]}
    depths = _depths(graph)
    having = partial(_nodes_with, graph, catalog, depths)
    within = {*having("MERGED"), *having("DEDUPED")}
    fused_lists = [*having("FUSED", "best_files")[:-1], "results"]
    packed = having("PACKED", "context_window")
    (signals,) = having("SIGNALS") or [""]
    return RankedLists(
        sorted(within, key=depths.__getitem__),
        {name: (results[name].documentation or "").partition("\n")[0] for name in fused_lists},
        pooled=[*having("UNIFIED"), ""][0],
        passages=["", *having("SHOWN", *packed[-1:])][-1],
        packed=["", *packed][-1],
        signals=signals,
        ordered=next((name for name in fused_lists if signals in results[name].input_types), ""),
    )


def _nodes_with(
    graph: FunctionGraph,
    catalog: Catalog,
    depths: Mapping[str, tuple[int, str]],
    frame: str,
    result: str = "results",
) -> list[str]:
    """The nodes around the corpora with a frame that ``result`` needs, in the order they run.

    ``frame`` is its name in :mod:`operators.frames`. A graph without ``result`` has none: one for
    judged queries has no context.
    """
    if result not in graph.nodes:
        return []
    schema = getattr(frames, frame)
    names = [
        node.name
        for node in graph.get_upstream_nodes([result])[0]
        if catalog.top.frames.get(node.name) == schema
        or ("." not in node.name and node_tags(node).get("frame") == frame)
    ]
    return sorted(names, key=depths.__getitem__)


def _depths(graph: FunctionGraph) -> dict[str, tuple[int, str]]:
    """For each node how many are on the longest way to it, and its name."""
    needed = {name: [one.name for one in node.dependencies] for name, node in graph.nodes.items()}
    depths: dict[str, tuple[int, str]] = {}
    for name in TopologicalSorter(needed).static_order():
        before = (depths[one][0] for one in needed.get(name, ()))
        depths[name] = (1 + max(before, default=0), name)
    return depths


def nodes_read(reports: Collection[str], lists: RankedLists) -> list[str]:
    """The nodes whose values ``reports`` need."""
    names = list(lists.corpus_lists)
    if "provenance" in reports:
        names += [*_PROVENANCE_NODES, *lists.counted]
    if set(reports) - {"provenance"}:
        names += [*_EXPLAINED, *lists.fused_lists, lists.pooled, lists.passages, lists.packed]
        names += [lists.signals] if lists.signals else []
    return [*dict.fromkeys(names)] if reports else []


def settings(
    config: Mapping[str, Any], given: Mapping[str, Any], instead: Mapping[str, Any]
) -> dict[str, Any]:
    """The models, collections, variants, parameters and modules of a run.

    Args:
        config: the configuration of the graph.
        given, instead: the inputs and the overrides of the run.
    """
    corpora = config["corpora"]
    return {
        "model": given["embedder"].model,
        "collections": {corpus: home.store.collection for corpus, home in given["homes"].items()},
        "reranker": config["reranker_model"],
        "variants": {
            **config["chosen_variants"],
            "corpora": {name: options["config"] for name, options in corpora.items()},
        },
        "parameters": {
            **{name: instead.get(name, config[name]) for name in config["top_parameters"]},
            "corpora": {
                name: {
                    key: instead.get(f"{name}.{key}", value)
                    for key, value in options["inputs"].items()
                }
                for name, options in corpora.items()
            },
        },
        "modules": config["own_modules"],
    }


def provenance(
    values: Mapping[str, Any],
    how: Mapping[str, Any],
    timings: Mapping[str, float],
    lists: RankedLists,
) -> dict[str, Any]:
    """How the answer was computed: searches, settings, counts, and failures.

    Args:
        values: of the nodes that :func:`nodes_read` names.
        how: from :func:`settings`.
        timings: the milliseconds of each node.
    """
    queries, scope, outcomes = (values[name] for name in ("queries", "version_scope", "outcomes"))
    faults = [fault for _, fault in search_outcomes.faults(outcomes)]
    counts = {name: values[name].height for name in (*lists.counted, "citations")}
    return {
        "searched": search_outcomes.channels(outcomes),
        "degraded": [*faults, *version_choice.degraded(scope)],
        "queries": queries.height,
        **queries["texts", "trigger"].to_dict(as_series=False),
        "versions": scope["version_policy", "pinned", "versions_as_of", "basis"].to_dicts(),
        "counts": {
            "corpora": {
                corpus: _heights({n: values[n].filter(corpus=corpus) for n in lists.corpus_lists})
                for corpus in how["collections"]
            },
            **counts,
            "context": int(values["context_window"]["used"].sum()),
        },
        **how,
        "timings": dict(timings),
    }


def _heights(lists: Mapping[str, pl.DataFrame]) -> dict[str, int]:
    """The number of rows of each list of a corpus."""
    both = next(iter(lists.values()))
    channels = {name: both[f"{name}_rank"].count() for name in ("vector", "text")}
    return channels | {name: of.height for name, of in lists.items()}


def explanation(
    values: Mapping[str, Any],
    graph: FunctionGraph,
    how: Mapping[str, Any],
    given: Mapping[str, Any],
    lists: RankedLists,
    targets: pl.DataFrame | None = None,
) -> dict[str, pl.DataFrame]:
    """``explain_targets``, ``dispositions`` and ``explain`` of a run.

    Args:
        values: of the nodes that :func:`nodes_read` names.
        graph: the graph of the run.
        how: from :func:`settings`.
        given: the inputs of the run.
        lists: from :func:`ranked_lists`.
        targets: overrides the chunks that the inputs name.
    """
    corpora, parameters = graph.config["corpora"], how["parameters"]
    depths = values["corpus_settings"]["corpus", "search_depth"]
    corpus_lists = {name: values[name] for name in lists.corpus_lists}
    chunks, named, collections = (values[name] for name in _LABELLED_FROM)
    hits = values[lists.pooled]
    every = labels_of([hits], hits, chunks, named, with_many_repos(collections))
    labels = pl.concat([values["labels"], every]).unique(
        LABEL_KEY, keep="first", maintain_order=True
    )
    ranked = {name: values[name] for name in lists.fused_lists}
    ranked[lists.counted[1]] = labelled(ranked[lists.counted[1]], labels)
    if targets is None:
        targets = find_targets(
            given["homes"],
            {**given["other_embedders"], "": given["embedder"]},
            values["scoped_queries"],
            labels,
            next(iter(corpus_lists.values())),
            corpora,
            names=given.get("explain_chunks") or (),
        )
    run = dispositions.Run(
        queries=values["queries"],
        outcomes=values["outcomes"],
        citations=values["citations"],
        labels=labels,
        passages=values[lists.passages],
        packed=values[lists.packed],
        corpus_lists=corpus_lists,
        lists=ranked,
        meanings=lists.fused_lists,
        signals=values.get(lists.signals, frames.empty(frames.SIGNALS)),
        ordered=lists.ordered,
        explain_targets=targets,
    )
    limits = dispositions.Limits(
        search_depths=dict(depths.iter_rows()),
        top_k=parameters["top_k"],
        context_depth=parameters["context_depth"],
        budget=parameters["context_budget"],
        unit=graph.config["packed_variant"],
        one_a_file=parameters["one_a_file"],
    )
    became = dispositions.dispositions(run, limits)
    numbers = steps.explain(run, became, budget=limits.budget)
    return {"explain_targets": targets, "dispositions": became, "explain": numbers}
