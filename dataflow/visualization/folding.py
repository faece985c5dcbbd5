"""Draws sub-graphs that look alike as one cluster, so that a picture has no repeated branches.

Alike means: the same boxes with the same functions and parameters, the same arrows inside
and to the same nodes outside. A sub-graph that differs has its own cluster, and its boxes show the
differing parameters.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from dataflow.visualization.picture import Box, Edge, Picture, spelled


def fold(shown: Picture) -> Picture:
    """``shown`` with one cluster for each group of sub-graphs that look alike."""
    groups: dict[Hashable, list[str]] = {}
    for subgraph in sorted(shown.titles):
        groups.setdefault(_look(shown, subgraph), []).append(subgraph)
    kept = {members[0]: group_title(members) for members in groups.values()}
    dropped = shown.titles.keys() - kept.keys()
    boxes = {name: box for name, box in shown.boxes.items() if box.node.subgraph not in dropped}
    varying = _varying(shown, kept) if len(kept) > 1 else set()
    return replace(
        shown,
        boxes={
            name: replace(box, notes=(*box.notes, *_own(shown, box, varying)))
            for name, box in boxes.items()
        },
        arrows={e: mark for e, mark in shown.arrows.items() if e[0] in boxes and e[1] in boxes},
        bundles={e: m for e, m in shown.bundles.items() if e[0] in kept and e[1] in boxes},
        titles=kept,
        outputs={one: shown.outputs[one] for one in kept},
    )


def group_title(members: list[str]) -> str:
    """The title of a cluster for the sub-graphs ``members``.

    >>> group_title(["left"]), group_title(["left", "middle", "right"])
    ('left', 'left, middle, ... x 3')
    """
    if len(members) == 1:
        return members[0]
    return f"{', '.join(members[:2])}{', ...' if len(members) > 2 else ''} x {len(members)}"


def _look(shown: Picture, subgraph: str) -> Hashable:
    """Everything visible of a sub-graph, except its name."""
    boxes = [box for box in shown.boxes.values() if box.node.subgraph == subgraph]
    own = {box.node.name for box in boxes}

    def ends(edge: Edge) -> Edge:
        start, end = (_short(name, subgraph) if name in own else name for name in edge)
        return start, end

    return (
        tuple(sorted((_short(b.node.name, subgraph), *_seen(shown, b)) for b in boxes)),
        tuple(sorted((*ends(e), mark) for e, mark in shown.arrows.items() if own & {*e})),
        tuple(sorted((e[1], mark) for e, mark in shown.bundles.items() if e[0] == subgraph)),
    )


def _short(name: str, subgraph: str) -> str:
    return "." + name.removeprefix(subgraph)


def _seen(shown: Picture, box: Box) -> tuple[str, ...]:
    node = box.node
    numbers = sorted((name, repr(value)) for name, value in _numbers(shown, box).items())
    look = repr((box.notes, sorted(box.style.items())))
    return (node.stage, node.implementation, str(node.io), repr(node.inputs), look, repr(numbers))


def _numbers(shown: Picture, box: Box) -> dict[str, Any]:
    """The parameters of a box, except the name of its sub-graph."""
    return {n: value for n, value in box.node.parameters.items() if value != box.node.subgraph}


def _varying(shown: Picture, subgraphs: dict[str, str]) -> set[Edge]:
    """Each (box, parameter) whose value differs between the clusters."""
    values_of: dict[Edge, set[str]] = {}
    for box in shown.boxes.values():
        if box.node.subgraph in subgraphs:
            for name, value in _numbers(shown, box).items():
                values_of.setdefault((box.node.short, name), set()).add(repr(value))
    return {which for which, values in values_of.items() if len(values) > 1}


def _own(shown: Picture, box: Box, varying: set[Edge]) -> list[str]:
    if not box.node.subgraph:
        return []
    numbers = _numbers(shown, box).items()
    return [f"{n} {spelled(v)}" for n, v in numbers if (box.node.short, n) in varying]
