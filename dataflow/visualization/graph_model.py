"""A built graph as plain, sorted data: what pictures are drawn from and what a diff compares."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hamilton.graph import FunctionGraph
from hamilton.node import Node

from dataflow.execution.annotations import spell
from dataflow.execution.plan import is_field, is_literal, node_tags


@dataclass(frozen=True)
class Described:
    """One node of a graph.

    Attributes:
        name: for instance ``fused``, or ``wiki.merged`` inside a corpus.
        corpus: the corpus it belongs to, or "".
        stage: its tag ``stage``, or "".
        implementation: module and function, for instance ``corpus.merged__convex``.
        io: whether it does I/O.
        field_of: the node whose result it is a part of, or "".
        needs: the nodes it reads, sorted.
        inputs: the run-time inputs it reads, sorted.
        parameters: the values that the configuration gives it, by name; what other nodes show
            (variants, the corpora and their parameters) is left out.
        type: the type of its value.
    """

    name: str
    corpus: str
    stage: str
    implementation: str
    io: bool
    field_of: str
    needs: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: dict[str, Any]
    type: str

    @property
    def variant(self) -> str:
        """The variant that the configuration chose, or "" for a stage that has only one form."""
        return self.implementation.rpartition(".")[2].partition("__")[2]

    @property
    def short(self) -> str:
        """Its name without the corpus."""
        return self.name.removeprefix(f"{self.corpus}.") if self.corpus else self.name


@dataclass(frozen=True)
class Description:
    """A graph.

    Attributes:
        nodes: its nodes by name, sorted.
        inputs: the type of each run-time input, sorted by name.
        answers: corpus -> the node that is the corpus's answer, sorted.
    """

    nodes: dict[str, Described]
    inputs: dict[str, str]
    answers: dict[str, str]

    @property
    def corpora(self) -> list[str]:
        """The corpora, sorted."""
        return list(self.answers)


def describe(graph: FunctionGraph, corpora: Collection[str] = ()) -> Description:
    """Describe what ``graph`` can compute: every node that some final node needs.

    Args:
        graph: a built Hamilton graph.
        corpora: the names of its sub-graphs.
    """
    finals = [n.name for n in graph.nodes.values() if _is_computed(n) and not n.depended_on_by]
    finals = [name for name in finals if name.partition(".")[0] not in corpora]
    wanted, _ = graph.get_upstream_nodes(finals)
    described = [_described(n, graph, corpora) for n in wanted if _is_computed(n)]
    nodes = {node.name: node for node in sorted(described, key=lambda d: d.name)}
    read = sorted({name for node in nodes.values() for name in node.inputs})
    inputs = {name: spell(graph.nodes[name].type) for name in read}
    answers = {corpus: graph.nodes[corpus].dependencies[0].name for corpus in sorted(corpora)}
    return Description(nodes, inputs, answers)


def _is_computed(node: Node) -> bool:
    return not node.user_defined and not is_literal(node)


def _described(node: Node, graph: FunctionGraph, corpora: Collection[str]) -> Described:
    space = node.name.partition(".")[0]
    corpus = space if space in corpora else ""
    parameters, needs, inputs = {}, [], []
    for needed in node.dependencies:
        if is_literal(needed):
            home, _, name = needed.name.rpartition(".")
            if home in ("", corpus):
                parameters[name] = needed.callable()
        elif needed.user_defined and needed.name in graph.config:
            if needed.name != "corpora" and not needed.name.endswith("_variant"):
                parameters[needed.name] = graph.config[needed.name]
        elif needed.user_defined:
            inputs.append(needed.name)
        else:
            needs.append(needed.name)
    function = node.originating_functions[0]
    tags = node_tags(node)
    return Described(
        name=node.name,
        corpus=corpus,
        stage=str(tags.get("stage", "")),
        implementation=f"{function.__module__.rpartition('.')[2]}.{function.__code__.co_name}",
        io="io" in tags,
        field_of=node.dependencies[0].name if is_field(node) else "",
        needs=tuple(sorted(needs)),
        inputs=tuple(sorted(inputs)),
        parameters=dict(sorted(parameters.items())),
        type=spell(node.type),
    )
