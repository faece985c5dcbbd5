"""The built retrieval graph as plain data, for pictures and diffs.

The rooms that draw and compare do not know the names of our nodes. This module lists the
configuration keys that are no parameters, and the parameters that belong to one corpus.
"""

from collections.abc import Collection

from hamilton.graph import FunctionGraph
from hamilton.node import Node

from dataflow.execution.plan import node_tags
from dataflow.visualization.graph_model import Description, describe

CORPUS_IDENTITY = frozenset({"label", "link", "linked_files"})
"""Parameters with a value per corpus; corpora that differ only in them count as alike."""


RESULTS = frozenset({"results", "context_window", "citations", "evidence_level", "notes"})
"""The nodes of an answer. Shipped nodes that none of them reads are unused in a variant."""

STRUCTURE = ("corpora", "corpus_modules", "own_modules", "chosen_variants", "top_parameters")
"""Keys of the configuration that say how the graph is built or described."""


def describe_retrieval(graph: FunctionGraph, only: Collection[str] | None = None) -> Description:
    """Describe a built retrieval graph, or only the nodes named in ``only``."""
    variants = {name for name in graph.config if name.endswith("_variant")}
    structure = {*STRUCTURE, *variants}
    return describe(
        graph, structure=structure, identity=CORPUS_IDENTITY, only=only, results=_is_result
    )


def _is_result(final: Node) -> bool:
    return final.name in RESULTS or "owner" in node_tags(final)
