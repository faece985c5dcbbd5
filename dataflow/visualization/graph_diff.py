"""What differs between two graphs: nodes, arrows, variants, parameters, settings.

Compared are the built graphs with all their sub-graphs, so that a change that reaches a node by
a default is seen where it takes effect.
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
    """A value that differs; None where one side has nothing."""

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
    settings: list[Change]  # whatever else the two are built from says differently, by name
    subgraphs: list[str]  # that both graphs have
    # the first and the second graph, for the picture; no part of the JSON
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
    given, taken = (
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
        parameters=_changes(given, taken),
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


def to_text(found: Diff) -> str:
    """The differences as lines that a person reads: ``+`` added, ``-`` removed, ``~`` changed.

    What is the same in every sub-graph is said once, with ``*`` for its name.
    """
    if not found:
        return "no difference\n"
    edges = [f"- {a} -> {b}" for a, b in found.edges_removed]
    edges += [f"+ {a} -> {b}" for a, b in found.edges_added]
    blocks = [
        ("nodes", [f"- {n}" for n in found.removed] + [f"+ {n}" for n in found.added]),
        ("edges", edges),
        ("variants", map(_line, found.implementations)),
        ("parameters", map(_line, found.parameters)),
        ("settings", map(_line, found.settings)),
    ]
    lines = []
    for title, rows in blocks:
        if said := _once(list(rows), found.subgraphs):
            lines += [title, *(f"  {row}" for row in said)]
    return "\n".join(lines) + "\n"


def _once(rows: list[str], subgraphs: list[str]) -> list[str]:
    """``rows``; those that every sub-graph has, with its own name, are one row."""
    if len(subgraphs) < 2:
        return rows
    inside = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, subgraphs))})\.")
    general = [inside.sub("*.", row) for row in rows]
    counts = Counter(general)
    said = [
        common if counts[common] == len(subgraphs) and common != row else row
        for row, common in zip(rows, general, strict=True)
    ]
    return list(dict.fromkeys(said))


def _line(change: Change) -> str:
    before, after = (spelled(value, most=None) for value in (change.before, change.after))
    return f"~ {change.where}: {before} -> {after}"


def difference_picture(first: Description, second: Description) -> Picture:
    """Both graphs in one picture, with what differs between them marked.

    An arrow that goes or comes is drawn where its ends stay, even if a longer path implies it.
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
    """A changed number; of a long value only that it differs."""
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
