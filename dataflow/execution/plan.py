"""The nodes that a request needs, in order: computed once for each set of names.

A driver gets the same few requests again and again. So the traversal, the constants of the
sub-graphs and the tags are not read again for each query.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from hamilton.graph import FunctionGraph
from hamilton.node import DependencyType, Node

from operators.errors import CrosscorpusError


class MissingInput(CrosscorpusError, LookupError):
    """A run lacks an input that a node needs."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node of one plan: its inputs and the steps that wait for it."""

    name: str
    node: Node
    needs: tuple[str, ...]
    waits: int
    followers: tuple[int, ...]
    io: bool
    fail_open: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that compute one set of outputs from one set of given names."""

    steps: tuple[Step, ...]
    constants: dict[str, Any]
    uses: Counter[str]


def make_plan(
    graph: FunctionGraph, final_vars: list[str], overrides: dict[str, Any], inputs: dict[str, Any]
) -> Plan:
    """Find the nodes to run, what each waits for, and the constants.

    Raises:
        MissingInput: a node needs an input that was not given and has no default.
    """
    wanted, _ = graph.get_upstream_nodes(final_vars, inputs, overrides)
    values = {**graph.config, **inputs, **overrides}
    computed = {n.name: n for n in wanted if not n.user_defined and n.name not in overrides}
    constants = {name: n.callable() for name, n in computed.items() if is_literal(n)}
    for name in constants:
        del computed[name]
    names = [name for name in graph.nodes if name in computed]  # the order of definition
    known = {*computed, *constants, *values}
    needs = {
        name: tuple(d.name for d in computed[name].dependencies if d.name in known)
        for name in names
    }
    _require_inputs(computed, needs)
    followers: defaultdict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(names):
        for need in needs[name]:
            followers[need].append(number)
    steps = tuple(
        Step(
            name=name,
            node=computed[name],
            needs=needs[name],
            waits=sum(need in computed for need in needs[name]),
            followers=tuple(followers[name]),
            io="io" in node_tags(computed[name]),
            fail_open="fail_open" in node_tags(computed[name]),
        )
        for name in names
    )
    uses = Counter(need for needed in needs.values() for need in needed)
    uses.update(final_vars)
    return Plan(steps, constants, uses)


def _require_inputs(computed: dict[str, Node], needs: dict[str, tuple[str, ...]]) -> None:
    missing: dict[str, list[str]] = {}
    for name, needed in needs.items():
        for wanted, (_, dependency) in computed[name].input_types.items():
            if wanted not in needed and dependency == DependencyType.REQUIRED:
                missing.setdefault(wanted, []).append(name)
    for wanted in sorted(missing):
        raise MissingInput(
            f"missing input {wanted!r}, which {', '.join(missing[wanted])} needs: give it from "
            f"Python, as inputs={{{wanted!r}: ...}}"
        )


def is_literal(node: Node) -> bool:
    """Whether ``node`` only holds a value that the configuration put into a sub-graph."""
    return not node.user_defined and not node.input_types and "module" not in node.tags


def is_field(node: Node) -> bool:
    """Whether ``node`` is one field of the node that it depends on, by ``@extract_fields``."""
    if len(node.dependencies) != 1 or not node.originating_functions:
        return False
    (parent,) = node.dependencies
    if parent.user_defined or not parent.originating_functions:
        return False
    return bool(parent.originating_functions[0].__code__ is node.originating_functions[0].__code__)


def node_tags(node: Node) -> dict[str, Any]:
    """The tags of ``node`` as its author wrote them.

    Hamilton copies a tag above ``@extract_fields`` to the fields, not to the function that does the
    work. Here the function has it, and the fields lose ``io`` and ``fail_open``.
    """
    if is_field(node):
        return {k: v for k, v in node.tags.items() if k not in ("io", "fail_open")}
    fields = [n for n in node.depended_on_by if is_field(n)]
    return {**(fields[0].tags if fields else {}), **node.tags}
