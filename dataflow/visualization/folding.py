"""Draws sub-graphs that look alike as one cluster, so that a picture has no repeated branches.

Alike means: the same boxes with the same functions and parameters, the same arrows inside
and to the same nodes outside. A sub-graph that differs has its own cluster.
"""

from collections.abc import Hashable
from dataclasses import replace

from dataflow.visualization.picture import Box, Edge, Picture


def fold(shown: Picture) -> Picture:
    """``shown`` with one cluster for each group of sub-graphs that look alike."""
    groups: dict[Hashable, list[str]] = {}
    for subgraph in sorted(shown.titles):
        groups.setdefault(_look(shown, subgraph), []).append(subgraph)
    kept = {members[0]: group_title(members) for members in groups.values()}
    dropped = shown.titles.keys() - kept.keys()
    boxes = {name: box for name, box in shown.boxes.items() if box.node.subgraph not in dropped}
    return replace(
        shown,
        boxes=boxes,
        arrows={e: mark for e, mark in shown.arrows.items() if e[0] in boxes and e[1] in boxes},
        titles=kept,
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
        tuple(sorted((_short(b.node.name, subgraph), *_seen(b)) for b in boxes)),
        tuple(sorted((*ends(e), mark) for e, mark in shown.arrows.items() if own & {*e})),
    )


def _short(name: str, subgraph: str) -> str:
    return "." + name.removeprefix(subgraph)


def _seen(box: Box) -> tuple[str, ...]:
    """A box without its sub-graph, whose name its parameters may have too."""
    node = box.node
    values = sorted((n, repr(v)) for n, v in node.parameters.items() if v != node.subgraph)
    look = repr((box.notes, sorted(box.style.items()), values))
    return (node.stage, node.implementation, str(node.io), repr(node.inputs), look)
