"""Errors where Hamilton is silent: a graph that reads an input that nobody gives.

Hamilton turns a node that no variant provides into an input, and a caller hears of it only when a
run fails. These checks look at the built graph, of whatever nodes it is made.
"""

from collections.abc import Collection
from typing import Any

from hamilton.graph import FunctionGraph
from hamilton.lifecycle.base import BaseDoValidateInput

from operators.errors import CrosscorpusError, suggest


class GraphError(CrosscorpusError):
    """The graph or a call does not fit together; the message names what is missing or wrong."""


class LooseInputs(BaseDoValidateInput):
    """Turns off Hamilton's own input check, whose message prints the value."""

    def do_validate_input(self, *, node_type: type, input_value: Any) -> bool:
        """Accept; whoever executes the graph checks the inputs itself."""
        return True


def check_declared(graph: FunctionGraph, declared: Collection[str]) -> None:
    """Refuse a graph that reads an input that neither a node nor ``declared`` provides.

    Args:
        graph: a built Hamilton graph.
        declared: the names of the run-time inputs.

    Raises:
        GraphError: names the nodes that read the input, and the nearest name.
    """
    for node in sorted(graph.nodes.values(), key=lambda n: str(n.name)):
        if node.user_defined and node.name not in declared and node.name not in graph.config:
            readers = ", ".join(sorted(n.name for n in node.depended_on_by))
            hint = suggest(node.name, [n for n in graph.nodes if n != node.name])
            raise GraphError(f"{readers} needs {node.name!r}, which no node computes{hint}")
