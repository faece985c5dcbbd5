"""The built retrieval graph as plain data: what its pictures and differences are made from.

The rooms that draw and compare know no node of ours. What they must know of the retrieval graph
is here: which configuration keys are no parameters, and what every corpus has of its own.
"""

from collections.abc import Collection

from hamilton.graph import FunctionGraph

from dataflow.visualization.graph_model import Description, describe

CORPUS_IDENTITY = frozenset({"label", "link"})
"""Parameters that every corpus has its own value of; corpora that differ by them only are alike."""


def describe_retrieval(graph: FunctionGraph, only: Collection[str] | None = None) -> Description:
    """Describe a built retrieval graph, or the nodes named in ``only`` alone."""
    variants = {name for name in graph.config if name.endswith("_variant")}
    return describe(graph, structure={"corpora", *variants}, identity=CORPUS_IDENTITY, only=only)
