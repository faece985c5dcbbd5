"""Builds Hamilton graphs, with an error for an input that nothing provides.

Hamilton turns a node that no variant provides into an input, and the error comes only when a run
fails. The check looks at the built graph.
"""

import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter
from types import ModuleType
from typing import Any

from hamilton.driver import Builder, Driver
from hamilton.graph import FunctionGraph
from hamilton.lifecycle.base import BaseDoValidateInput, LifecycleAdapter
from hamilton.node import Node

from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.execution.scheduler import Scheduler
from operators.errors import CrosscorpusError, suggest

_building = threading.Lock()  # Hamilton resolves decorators in place: one build at a time


class GraphError(CrosscorpusError):
    """An invalid graph or call; the message names what is missing or wrong."""


class LooseInputs(BaseDoValidateInput):
    """Disables Hamilton's input check, because its message prints the value."""

    def do_validate_input(self, *, node_type: type, input_value: Any) -> bool:
        """Accept; the executor of the graph checks the inputs."""
        return True


def build(
    modules: Iterable[ModuleType],
    config: Mapping[str, Any],
    adapters: Iterable[LifecycleAdapter] = (),
) -> Driver:
    """The graph of ``modules``; a node of a later module replaces an earlier one of that name.

    The thread that executes it computes all nodes itself.

    Raises:
        GraphError: a node reads another one as another type.
    """
    builder = Builder().with_modules(*modules).allow_module_overrides()
    builder = builder.with_config(dict(config)).with_adapters(LooseInputs(), *adapters)
    try:
        with _building, quiet_hamilton():
            built = builder.build()
    except ValueError as error:
        fault = str(error).removeprefix("Error: ").partition("\n")[0].partition(" Please fix")[0]
        raise GraphError(re.sub(r"<class '(.*?)'>", r"\1", fault).strip()) from error
    built.graph_executor = Scheduler(0, adapter=built.adapter)
    return built


def check_declared(
    graph: FunctionGraph,
    declared: Collection[str],
    shown: Callable[[Node], str] = attrgetter("name"),
) -> None:
    """Raise for a built graph with a circle, or an input that neither a node nor ``declared`` has.

    Args:
        graph: the graph.
        declared: names of the inputs of a run.
        shown: the name of a node in the error.

    Raises:
        GraphError: the nodes of the circle; or the readers of the input, and the nearest name.
    """
    needed = {node.name: [one.name for one in node.dependencies] for node in graph.nodes.values()}
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        circle = " -> ".join(shown(graph.nodes[name]) for name in error.args[1])
        raise GraphError(f"nodes read each other in a circle: {circle}") from None
    for node in sorted(graph.nodes.values(), key=lambda n: str(n.name)):
        if node.user_defined and node.name not in declared and node.name not in graph.config:
            readers = ", ".join(sorted({shown(reader) for reader in node.depended_on_by}))
            branches = {reader.name.rpartition(".")[0] + "." for reader in node.depended_on_by}
            known = {name.removeprefix(of) for name in graph.nodes for of in branches}
            advice = "; an argument with a default is a parameter"
            hint = suggest(node.name, known - {node.name}, advice)
            raise GraphError(f"{readers} needs {node.name!r}, which no node computes{hint}")
