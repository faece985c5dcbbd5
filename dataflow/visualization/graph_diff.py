"""The differences of two graphs: nodes, arrows, variants, parameters, settings.

The built graphs are compared with all sub-graphs, so that a change that reaches a node through
a default is reported at that node.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dataflow.visualization.graph_model import Description
from dataflow.visualization.picture import Edge


@dataclass(frozen=True)
class Change:
    """A value that differs; None if one side has no value."""

    where: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Diff:
    """The differences from a first graph to a second; each list is sorted."""

    added: list[str]  # nodes that only the second graph has
    removed: list[str]  # nodes that only the first has
    edges_added: list[Edge]  # (from, to), only in the second; a run-time input may be "from"
    edges_removed: list[Edge]  # the same, only in the first
    implementations: list[Change]  # node -> its function in the first and in the second graph
    parameters: list[Change]  # ``node.parameter`` -> its value in the first and in the second
    settings: list[Change]  # other differing settings of the two configurations, by name
    subgraphs: list[str]  # that both graphs have

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return any(value for name, value in self.to_json().items() if name != "subgraphs")

    def to_json(self) -> dict[str, Any]:
        """The differences as plain dicts and lists."""
        return asdict(self)


def compare(
    first: Description,
    second: Description,
    settings_before: Mapping[str, Any] | None = None,
    settings_after: Mapping[str, Any] | None = None,
) -> Diff:
    """Compare two described graphs and two flat mappings of settings."""
    a, b = first.nodes, second.nodes
    both = sorted(a.keys() & b.keys())
    edges_a, edges_b = _edges(first), _edges(second)
    before, after = (
        {f"{n}.{k}": v for n in both for k, v in _flat(nodes[n].parameters)} for nodes in (a, b)
    )
    return Diff(
        added=sorted(b.keys() - a.keys()),
        removed=sorted(a.keys() - b.keys()),
        edges_added=sorted(edges_b - edges_a),
        edges_removed=sorted(edges_a - edges_b),
        implementations=_changes(
            {n: a[n].implementation for n in both}, {n: b[n].implementation for n in both}
        ),
        parameters=_changes(before, after),
        settings=_changes(settings_before or {}, settings_after or {}),
        subgraphs=sorted({*first.subgraphs} & {*second.subgraphs}),
    )


def _edges(description: Description) -> set[Edge]:
    nodes = description.nodes.values()
    return {(start, node.name) for node in nodes for start in (*node.needs, *node.inputs)}


def _flat(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in parameters.items():  # of a mapping each value is one
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", one) for key, one in value.items())
        else:
            yield name, value


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    names = sorted(before.keys() | after.keys())
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return [Change(*pair) for pair in pairs if pair[1] != pair[2]]


def to_text(diff: Diff) -> str:
    """The differences as text lines: ``+`` added, ``-`` removed, ``~`` changed.

    A difference that all sub-graphs share is one line, with ``*`` for their names.
    """
    if not diff:
        return "no difference\n"
    edges = [f"- {a} -> {b}" for a, b in diff.edges_removed]
    edges += [f"+ {a} -> {b}" for a, b in diff.edges_added]
    blocks = [
        ("nodes", [f"- {n}" for n in diff.removed] + [f"+ {n}" for n in diff.added]),
        ("edges", edges),
        ("variants", map(_line, diff.implementations)),
        ("parameters", map(_line, diff.parameters)),
        ("settings", map(_line, diff.settings)),
    ]
    lines = []
    for title, rows in blocks:
        if block := _once(list(rows), diff.subgraphs):
            lines += [title, *(f"  {row}" for row in block)]
    return "\n".join(lines) + "\n"


def _once(rows: list[str], subgraphs: list[str]) -> list[str]:
    """``rows``; rows that every sub-graph has, each with its own name, become one row."""
    if len(subgraphs) < 2:
        return rows
    inside = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, subgraphs))})\.")
    general = [inside.sub("*.", row) for row in rows]
    counts = Counter(general)
    merged = [
        common if counts[common] == len(subgraphs) and common != row else row
        for row, common in zip(rows, general, strict=True)
    ]
    return list(dict.fromkeys(merged))


def _line(change: Change) -> str:
    before, after = ("(none)" if one is None else one for one in (change.before, change.after))
    return f"~ {change.where}: {before} -> {after}"
