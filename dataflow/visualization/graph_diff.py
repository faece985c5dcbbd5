"""The differences of two graphs: nodes, arrows, variants, parameters, settings.

The built graphs are compared with all sub-graphs, so that a change that reaches a node through
a default is reported at that node.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dataflow.visualization.graph_model import Described, Description
from dataflow.visualization.picture import (
    IMPLIED,
    MARKS,
    Box,
    Edge,
    Picture,
    all_edges,
    parted_edges,
    picture,
    spelled,
)


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
    # the first and the second graph, for the picture; not in the JSON
    graphs: tuple[Description, ...] = field(default=(), repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return any(value for name, value in self.to_json().items() if name != "subgraphs")

    def to_json(self) -> dict[str, Any]:
        """The differences as plain dicts and lists."""
        return {k: v for k, v in asdict(replace(self, graphs=())).items() if k != "graphs"}


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
        {f"{n}.{k}": v for n in both for k, v in nodes[n].parameters.items()} for nodes in (a, b)
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
        subgraphs=sorted(first.outputs.keys() & second.outputs.keys()),
        graphs=(first, second),
    )


def _edges(description: Description) -> set[Edge]:
    nodes = description.nodes.values()
    return {(start, node.name) for node in nodes for start in (*node.needs, *node.inputs)}


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
    before, after = (spelled(value, most=None) for value in (change.before, change.after))
    return f"~ {change.where}: {before} -> {after}"


def difference_picture(first: Description, second: Description) -> Picture:
    """Both graphs in one picture, with their differences marked.

    An added or removed arrow is drawn if both its ends stay, even if a longer path implies it.
    """
    before, after = picture(first), picture(second)
    outputs = dict(sorted({**before.outputs, **after.outputs}.items()))
    edges, more_edges = all_edges(first), all_edges(second)
    old, new = ({name: box.node for name, box in one.boxes.items()} for one in (before, after))
    moved = {edge for edge in edges ^ more_edges if {*edge} <= old.keys() & new.keys()}
    whole, more_whole = parted_edges(first)[2], parted_edges(second)[2]
    arrows = sorted({*_direct(before.arrows), *_direct(after.arrows), *moved})
    bundles = sorted({*_direct(before.bundles), *_direct(after.bundles)})
    return Picture(
        boxes={name: _box(old.get(name), new.get(name)) for name in sorted(old | new)},
        arrows={edge: _mark(edge, edges, more_edges) for edge in arrows},
        bundles={edge: _mark(edge, whole, more_whole) for edge in bundles},
        titles={one: one for one in outputs},
        outputs=outputs,
        inputs=tuple(sorted({row[0]: row for row in (*before.inputs, *after.inputs)}.values())),
        legend={**MARKS, "the same": "#ffffff"},
        identity=first.identity | second.identity,
    )


def _direct(edges: Mapping[Edge, str]) -> list[Edge]:
    return [edge for edge, mark in edges.items() if mark != IMPLIED]


def _box(before: Described | None, after: Described | None) -> Box:
    node = after or before
    assert node is not None
    notes = [node.variant] if node.variant else []
    if before is None or after is None:
        return Box(node, tuple(notes), "removed" if after is None else "added")
    if before.implementation != after.implementation:
        notes = [f"{_function(before)} -> {_function(after)}"]
    changes = _changes(before.parameters, after.parameters)
    notes += [_note(c) for c in changes if {c.where} <= before.parameters.keys() & after.parameters]
    differs = {change.where for change in changes}
    same = {name: value for name, value in after.parameters.items() if name not in differs}
    changed = before.implementation != after.implementation or bool(changes)
    return Box(replace(after, parameters=same), tuple(notes), "changed" if changed else "")


def _note(change: Change) -> str:
    """A changed parameter; a long value is not shown."""
    texts = spelled(change.before, 24), spelled(change.after, 24)
    if texts[0] == texts[1] or any(text.endswith("...") for text in texts):
        return f"{change.where} differs"
    return f"{change.where} {texts[0]} -> {texts[1]}"


def _function(node: Described) -> str:
    return node.variant or node.implementation


def _mark(edge: Edge, first: set[Edge], second: set[Edge]) -> str:
    if edge in first and edge in second:
        return ""
    return "removed" if edge in first else "added"
