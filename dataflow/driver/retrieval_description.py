"""The built retrieval graph as plain data: what its pictures and differences are made from.

The rooms that draw and compare know no node of ours. This module tells them which configuration
keys are no parameters, and which parameters belong to one corpus.
"""

from collections.abc import Collection
from dataclasses import replace

from hamilton.graph import FunctionGraph
from hamilton.node import Node

from dataflow.execution.plan import node_tags
from dataflow.visualization.graph_model import Description, describe

CORPUS_IDENTITY = frozenset({"label", "link", "full_length_words"})
"""Parameters with a value for each corpus; corpora that differ only in them are alike."""


RESULTS = frozenset({"explain", "notes", "provenance"})
"""The nodes of ours that no other reads; another one without a reader has no use in a variant."""

STRUCTURE = ("corpora", "corpus_modules", "own_modules", "chosen_variants", "top_parameters")
"""Keys of the configuration that say how the graph is built or described."""


def describe_retrieval(graph: FunctionGraph, only: Collection[str] | None = None) -> Description:
    """Describe a built retrieval graph, or the nodes named in ``only`` alone."""
    variants = {name for name in graph.config if name.endswith("_variant")}
    structure = {*STRUCTURE, *variants}
    shown = describe(
        graph, structure=structure, identity=CORPUS_IDENTITY, only=only, results=_is_result
    )
    if every := shown.nodes.get("run_parameters"):  # each other node shows its own
        shown.nodes["run_parameters"] = replace(every, parameters={})
    return shown


def _is_result(final: Node) -> bool:
    return final.name in RESULTS or "owner" in node_tags(final)
