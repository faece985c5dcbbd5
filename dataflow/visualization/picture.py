"""The content of a picture of a graph, before it is written as DOT: boxes, arrows and clusters.

A picture must stay readable with six sub-graphs: an arrow that a longer path implies is pale, and
the legend counts these. The parts of a node's result have no boxes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from statistics import fmean

from dataflow.visualization.graph_model import Described, Description

PALETTE = (
    *("#dbe7f5", "#cfe3ff", "#d8f0dd", "#dff1f4", "#fff0c9", "#f1e2f6", "#c3e8cd", "#ffe1d1"),
    *("#fbd9e0", "#f6e3b4", "#e9e6dc", "#e4e6ea", "#e3f0c4", "#d9d6f5", "#d2efe9", "#f3e3c3"),
)
"""Fill colours of the stages, in the order of the data flow."""

IMPLIED = "implied"
"""The mark of an arrow between nodes that a longer path also connects."""

Edge = tuple[str, str]


@dataclass(frozen=True)
class Box:
    """A drawn node."""

    node: Described  # its node in the graph
    notes: tuple[str, ...] = ()  # the lines under its name
    style: Mapping[str, str] = field(default_factory=dict)  # Graphviz attributes of its own


@dataclass(frozen=True)
class Picture:
    """The content of a picture of a graph."""

    boxes: dict[str, Box]  # the drawn nodes by name, sorted
    arrows: dict[Edge, str]  # (from, to) between boxes -> its mark
    titles: dict[str, str]  # sub-graph -> the title of its cluster, sorted
    inputs: tuple[tuple[str, str, tuple[str, ...]], ...]  # name, type, readers
    legend: dict[str, str]  # stage -> colour
    by_stage: bool = False  # one box per stage, named by it

    def fill(self, box: Box) -> str:
        """The colour of a box: that of its stage."""
        return self.legend.get(box.node.stage, "#ffffff")


def picture(description: Description) -> Picture:
    """The picture of one graph, in the colours of its stages.

    Args:
        description: from :func:`dataflow.visualization.graph_model.describe`.
    """
    shown = drawn_nodes(description)
    return Picture(
        boxes={
            name: Box(node, tuple(filter(None, (node.variant, node.owner))))
            for name, node in shown.items()
        },
        arrows=drawn_edges(description),
        titles={one: one for one in description.subgraphs},
        inputs=_read_inputs(description),
        legend=stage_colours(description),
    )


def overview(description: Description) -> Picture:
    """The picture of the stages: a box for each, with the names of some of its nodes.

    Only arrows in the direction of the flow are drawn.
    """
    nodes = [node for node in description.nodes.values() if node.stage]
    members: dict[str, list[Described]] = {}
    for node in nodes:
        members.setdefault(node.stage, []).append(node)
    stage_of = {node.name: node.stage for node in nodes}
    position = {stage: number for number, stage in enumerate(stage_colours(description))}
    needs = {
        stage: {stage_of.get(n, stage) for one in of for n in one.needs}
        for stage, of in members.items()
    }
    grouped = {
        stage: Described(
            name=stage,
            subgraph="",
            stage=stage,
            implementation="",
            io=any(one.io for one in of),
            field_of="",
            needs=tuple(sorted(n for n in needs[stage] if position[n] < position[stage])),
            inputs=(),
            parameters={},
        )
        for stage, of in sorted(members.items())
    }
    shown = picture(Description(grouped, {}, []))
    boxes = {name: replace(box, notes=_some(members[name])) for name, box in shown.boxes.items()}
    return replace(shown, boxes=boxes, legend=stage_colours(description), by_stage=True)


def _some(members: list[Described], lines: int = 4) -> tuple[str, ...]:
    """A few names of nodes that are not parts of others, nodes with variants first."""
    ordered = sorted((one for one in members if not one.field_of), key=lambda one: not one.variant)
    names = list(dict.fromkeys(one.short for one in ordered))
    return (*names[:lines], *(["..."] if len(names) > lines else []))


def _read_inputs(description: Description) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Each run-time input with its type and the short names of the nodes that read it."""
    nodes = description.nodes.values()
    readers = {
        name: tuple(sorted({n.short for n in nodes if name in n.inputs}))
        for name in description.inputs
    }
    return tuple((n, description.inputs[n], reading) for n, reading in readers.items() if reading)


def drawn_nodes(description: Description) -> dict[str, Described]:
    """The nodes that a picture shows: all except parts of results."""
    nodes = description.nodes
    return {name: node for name, node in nodes.items() if node.field_of not in nodes}


def drawn_edges(description: Description) -> dict[Edge, str]:
    """The arrows of a picture, sorted, each with its mark: ``IMPLIED`` or none."""
    edges = all_edges(description)
    home = {name: node.subgraph for name, node in description.nodes.items()}
    across = {(start, end) for start, end in edges if not home[start] or home[start] != home[end]}
    behind = _descendants(edges)
    readers: dict[str, set[str]] = {}
    for start, end in across:
        readers.setdefault(start, set()).add(end)

    def implied(start: str, end: str) -> bool:
        """Whether another reader of the same node, outside its sub-graph, leads to the same end."""
        return any(end in behind[other] for other in readers[start] - {end})

    return {e: IMPLIED if e in across and implied(*e) else "" for e in sorted(edges)}


def all_edges(description: Description) -> set[Edge]:
    """Every dependency between drawn nodes, through the parts of results."""
    nodes, shown = description.nodes, drawn_nodes(description)

    def origin(name: str) -> str:
        return name if name in shown else nodes[name].field_of

    return {(origin(need), name) for name in shown for need in nodes[name].needs}


def _descendants(edges: set[Edge]) -> dict[str, set[str]]:
    """Every node with all its descendants."""
    followers: dict[str, set[str]] = {name: set() for edge in edges for name in edge}
    for start, end in edges:
        followers[start].add(end)
    behind: dict[str, set[str]] = {}
    for name in TopologicalSorter(followers).static_order():
        behind[name] = followers[name].union(*(behind[other] for other in followers[name]))
    return behind


def stage_colours(description: Description) -> dict[str, str]:
    """Stage -> fill colour, in the order of the data flow."""
    nodes = description.nodes
    graph = {name: set(node.needs) for name, node in nodes.items()}
    depth: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        depth[name] = 1 + max((depth[need] for need in graph[name]), default=0)
    depths: dict[str, list[int]] = {}
    for name, node in nodes.items():
        if node.stage:
            depths.setdefault(node.stage, []).append(depth[name])
    order = sorted(depths, key=lambda stage: (fmean(depths[stage]), stage))
    return {stage: PALETTE[index % len(PALETTE)] for index, stage in enumerate(order)}
