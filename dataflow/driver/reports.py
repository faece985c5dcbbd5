"""What is told of a run after it: how the answer came about, and why each passage is where it is.

They are asked for by name, as nodes are, and no node computes them: they read what the run made and
nothing reads them, so that the graph has no node with a hundred inputs.

- ``provenance``: the searches, the settings, the counts, and what failed.
- ``explain_targets``: the chunks that a caller names (input ``explain_chunks``), found or not.
- ``dispositions``: what became of every result and every named chunk: its places and the reason.
- ``explain``: every number behind every result and every named chunk, one a row.
"""

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl
from hamilton.graph import FunctionGraph

from dataflow.execution.plan import node_tags
from operators.context import search_outcomes
from operators.context.templates import label_names
from operators.explain import dispositions, steps
from operators.explain.explain_targets import find_targets
from operators.frames import DISPOSITIONS, EXPLAIN, EXPLAIN_TARGETS, FUSED
from operators.versions import version_choice

REPORTS = ("provenance", "explain_targets", "dispositions", "explain")
FRAMES = {"explain_targets": EXPLAIN_TARGETS, "dispositions": DISPOSITIONS, "explain": EXPLAIN}

_OF_EACH = ("merged", "deduped")
_COUNTED = ("fused", "unique", "results", "citations", "context_window")
_TOLD = ("queries", "outcomes", "version_scope", *_COUNTED)
_EXPLAINED = (
    *("queries", "outcomes", "scoped_queries", "pooled_hits", "whole_passages", "packed"),
    "citations",
)


def nodes_read(
    reports: Collection[str], graph: FunctionGraph, frames_of: Mapping[str, pl.Schema]
) -> list[str]:
    """The nodes whose values ``reports`` read; ``frames_of`` as for :func:`ranked_lists`."""
    of_corpora = [f"{name}.{stage}" for name in graph.config["corpora"] for stage in _OF_EACH]
    names = {"provenance": [*_TOLD, *of_corpora]} if "provenance" in reports else {}
    if set(reports) - {"provenance"}:
        names["explain"] = [*_EXPLAINED, *of_corpora, *ranked_lists(graph, frames_of)]
    return [*dict.fromkeys(name for read in names.values() for name in read)]


def ranked_lists(graph: FunctionGraph, frames_of: Mapping[str, pl.Schema]) -> dict[str, str]:
    """The lists of all corpora and what each is, from the fused one to the results.

    They are the nodes that the results come from whose frame is FUSED: ``frames_of`` says so (the
    columns of the frames of shipped nodes, by name), or their own tag ``frame``.
    """
    upstream = graph.get_upstream_nodes(["results"])[0]
    lists = {
        node.name: node
        for node in upstream
        if frames_of.get(node.name) == FUSED or node_tags(node).get("frame") == "FUSED"
    }

    def lists_behind(name: str) -> int:
        return sum(node.name in lists for node in graph.get_upstream_nodes([name])[0])

    ordered = sorted(lists, key=lambda name: (lists_behind(name), name))
    return {name: (lists[name].documentation or "").partition("\n")[0] for name in ordered}


def settings(
    config: Mapping[str, Any], given: Mapping[str, Any], instead: Mapping[str, Any]
) -> dict[str, Any]:
    """The models, collections, variants, parameters and modules that a run has.

    Args:
        config: what the graph is built from.
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
    values: Mapping[str, Any], how: Mapping[str, Any], timings: Mapping[str, float]
) -> dict[str, Any]:
    """How the answer came about: the searches, their settings, the counts, and what failed.

    Args:
        values: of the nodes that :func:`nodes_read` names.
        how: from :func:`settings`.
        timings: the milliseconds of each node.
    """
    queries, scope, outcomes = (values[name] for name in ("queries", "version_scope", "outcomes"))
    faults = [said for _, said in search_outcomes.faults(outcomes)]
    counts = {name: values[name].height for name in _COUNTED[:-1]}
    return {
        "searched": search_outcomes.channels(outcomes),
        "degraded": [*faults, *version_choice.degraded(scope)],
        "queries": queries.height,
        **queries["texts", "trigger"].to_dict(as_series=False),
        "versions": scope["version_policy", "pinned", "versions_as_of", "basis"].to_dicts(),
        "counts": {
            "corpora": {name: _heights(values, name) for name in how["parameters"]["corpora"]},
            **counts,
            "context": int(values["context_window"]["used"].sum()),
        },
        **how,
        "timings": dict(timings),
    }


def _heights(values: Mapping[str, Any], corpus: str) -> dict[str, int]:
    """How many rows each stage of a corpus had."""
    merged, deduped = (values[f"{corpus}.{stage}"] for stage in _OF_EACH)
    return {
        "vector": merged.height - merged["vector_rank"].null_count(),
        "text": merged.height - merged["text_rank"].null_count(),
        "merged": merged.height,
        "deduped": deduped.height,
    }


def explanation(
    values: Mapping[str, Any],
    graph: FunctionGraph,
    how: Mapping[str, Any],
    given: Mapping[str, Any],
    frames_of: Mapping[str, pl.Schema],
    targets: pl.DataFrame | None = None,
) -> dict[str, pl.DataFrame]:
    """``explain_targets``, ``dispositions`` and ``explain`` of a run.

    Args:
        values: of the nodes that :func:`nodes_read` names.
        graph: the graph of the run.
        how: from :func:`settings`.
        given: the inputs of the run.
        frames_of: as for :func:`ranked_lists`.
        targets: instead of the chunks that the inputs name.
    """
    corpora, parameters = graph.config["corpora"], how["parameters"]
    merged, deduped = ({name: values[f"{name}.{stage}"] for name in corpora} for stage in _OF_EACH)
    if targets is None:
        targets = find_targets(
            given["homes"],
            {**given["other_embedders"], "": given["embedder"]},
            values["scoped_queries"],
            values["pooled_hits"],
            merged,
            corpora,
            names=given.get("explain_chunks") or (),
        )
    lists = ranked_lists(graph, frames_of)
    read = ("queries", "outcomes", "pooled_hits", "whole_passages", "packed", "citations")
    run = dispositions.Run(
        **{name: values[name] for name in read},
        merged=dispositions.of_all(merged),
        deduped=dispositions.of_all(deduped),
        lists={name: values[name] for name in lists},
        meanings=lists,
        explain_targets=targets,
    )
    limits = dispositions.Limits(
        search_depths={name: one["search_depth"] for name, one in parameters["corpora"].items()},
        top_k=parameters["top_k"],
        context_depth=parameters["context_depth"],
        budget=parameters["context_budget"],
        unit=graph.config["packed_variant"],
        label_names=label_names(corpora),
        inert_markdown=parameters["inert_markdown"],
    )
    became = dispositions.dispositions(run, limits)
    numbers = steps.explain(run, became, budget=limits.budget)
    return {"explain_targets": targets, "dispositions": became, "explain": numbers}
