"""A built graph as plain, sorted data, for pictures and diffs.

Everything is read from the Hamilton graph. A name with a dot whose first part is a node
(``left.size`` beside ``left``) is a node of the sub-graph ``left``, made by ``@subdag`` or
``@parameterized_subdag``. The tag ``stage`` groups nodes by colour, and the tag ``io`` marks those
that do I/O. Nodes that only pass a value into a sub-graph or out of it are left out.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from hamilton.graph import FunctionGraph
from hamilton.node import Node

from dataflow.execution.annotations import spell
from dataflow.execution.plan import is_field, is_literal, node_tags


@dataclass(frozen=True)
class Described:
    """One node of a graph."""

    name: str  # for instance ``total``, or ``left.size`` inside a sub-graph
    subgraph: str  # the sub-graph it belongs to, or ""
    stage: str  # its tag ``stage``, or ""
    implementation: str  # module and function, for instance ``sizes.size__squared``
    io: bool  # whether it does I/O
    field_of: str  # the node whose result contains it, or ""
    needs: tuple[str, ...]  # the nodes it reads, sorted
    inputs: tuple[str, ...]  # the run-time inputs it reads, sorted
    parameters: dict[str, Any]  # its parameter values from the configuration, by name
    owner: str = ""  # its tag ``owner``, or "": the module that defines it

    @property
    def variant(self) -> str:
        """The variant that the configuration chose, or "" for a node without variants."""
        return self.implementation.rpartition(".")[2].partition("__")[2]

    @property
    def short(self) -> str:
        """Its name without the sub-graph."""
        return self.name.removeprefix(f"{self.subgraph}.")


@dataclass(frozen=True)
class Description:
    """A graph."""

    nodes: dict[str, Described]  # by name, sorted
    inputs: dict[str, str]  # the type of each run-time input, sorted by name
    subgraphs: list[str]  # sorted


def describe(
    graph: FunctionGraph,
    *,
    structure: Collection[str] = (),
    results: Callable[[Node], bool] = lambda final: True,
) -> Description:
    """Describe ``graph``: every node that some result needs.

    Args:
        graph: a built Hamilton graph.
        structure: keys of its configuration that define how it is built; no node shows them as
            its parameter.
        results: whether a final node, which no other reads, is a result.
    """
    subgraphs = {name.partition(".")[0] for name in graph.nodes if _inside(name, graph)}
    finals = [n.name for n in graph.nodes.values() if not n.user_defined]
    finals = [n for n in finals if not graph.nodes[n].depended_on_by and not _inside(n, graph)]
    finals = [n for n in finals if results(graph.nodes[n])]
    chosen, _ = graph.get_upstream_nodes(finals)
    wanted = {
        n.name: n for n in chosen if not (n.user_defined or is_literal(n) or _source(n) is not n)
    }
    present = {n.name for n in chosen}
    nodes = {
        name: _described(wanted[name], graph, present, subgraphs, structure)
        for name in sorted(wanted)
    }
    read = sorted({name for node in nodes.values() for name in node.inputs})
    inputs = {name: spell(graph.nodes[name].type) for name in read}
    drawn = subgraphs & {node.subgraph for node in nodes.values()}
    return Description(nodes, inputs, sorted(drawn))


def _inside(name: str, graph: FunctionGraph) -> bool:
    head, dot, _ = name.partition(".")
    return bool(dot) and head in graph.nodes


def _source(node: Node) -> Node:
    """The node whose value ``node`` passes on; ``node`` itself if it computes one."""
    while _hands_on(node):
        (node,) = node.dependencies
    return node


def _hands_on(node: Node) -> bool:
    """Whether ``node`` only passes one value into a sub-graph or out of it."""
    if node.user_defined or len(node.dependencies) != 1:
        return False
    if "module" not in node.tags:  # Hamilton made it for an input of a sub-graph
        return True
    within = node.dependencies[0].name.startswith(f"{node.name}.")
    code = node.originating_functions[0].__code__
    return bool(within and code.co_argcount == 1 and code.co_code == _same.__code__.co_code)


def _same(value: Any) -> Any:
    return value


def _described(
    node: Node,
    graph: FunctionGraph,
    present: Collection[str],
    subgraphs: Collection[str],
    structure: Collection[str],
) -> Described:
    head = node.name.partition(".")[0]
    subgraph = head if head in subgraphs else ""
    parameters: dict[str, Any] = {}
    needs: set[str] = set()
    inputs: set[str] = set()
    for dependency in node.dependencies:
        needed = _source(dependency)
        if is_literal(needed):
            home, _, name = dependency.name.rpartition(".")
            if home.partition(".")[0] in ("", subgraph):
                parameters[name] = needed.callable()
        elif needed.user_defined and needed.name in graph.config:
            if needed.name not in structure:
                parameters[needed.name] = graph.config[needed.name]
        elif needed.name in present:
            (inputs if needed.user_defined else needs).add(needed.name)
    tags = node_tags(node)
    return Described(
        name=node.name,
        subgraph=subgraph,
        stage=str(tags.get("stage", "")),
        implementation=_implementation(node),
        io="io" in tags,
        field_of=node.dependencies[0].name if is_field(node) else "",
        needs=tuple(sorted(needs)),
        inputs=tuple(sorted(inputs)),
        parameters=dict(sorted(parameters.items())),
        owner=str(tags.get("owner", "")),
    )


def _implementation(node: Node) -> str:
    function = (node.originating_functions or (node.callable,))[0]
    code = getattr(function, "__code__", None)
    return f"{function.__module__.rpartition('.')[2]}.{code.co_name if code else node.name}"
