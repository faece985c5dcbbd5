"""The built retrieval graph as plain data: what its pictures and differences are made from.

The rooms that draw and compare know no node of ours. This module tells them which configuration
keys are no parameters, and which parameters belong to one corpus.
"""

from collections.abc import Collection

from hamilton.graph import FunctionGraph
from hamilton.node import Node

from dataflow.execution.plan import node_tags
from dataflow.visualization.graph_model import Description, describe

CORPUS_IDENTITY = frozenset({"label", "link", "full_length_words"})
"""Parameters with a value for each corpus; corpora that differ only in them are alike."""


RESULTS = frozenset({"results", "context_window", "citations", "notes"})
"""The nodes of ours that an answer is made of; another one that none of them reads has no use in a
variant."""

STRUCTURE = ("corpora", "corpus_modules", "own_modules", "chosen_variants", "top_parameters")
"""Keys of the configuration that say how the graph is built or described."""


def describe_retrieval(graph: FunctionGraph, only: Collection[str] | None = None) -> Description:
    """Describe a built retrieval graph, or the nodes named in ``only`` alone."""
    variants = {name for name in graph.config if name.endswith("_variant")}
    structure = {*STRUCTURE, *variants}
    return describe(
        graph, structure=structure, identity=CORPUS_IDENTITY, only=only, results=_is_result
    )


def _is_result(final: Node) -> bool:
    return final.name in RESULTS or "owner" in node_tags(final)
