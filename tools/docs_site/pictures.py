"""Small pictures of a graph: what is around one node, and what is in one stage."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache

from dataflow.cli.console.graphs import draw_graph
from dataflow.configuration.config_model import load_config
from dataflow.configuration.loader import shipped
from dataflow.visualization.dot import to_dot
from dataflow.visualization.graph_model import Described
from dataflow.visualization.picture import Box, Edge, Picture
from dataflow.visualization.png import draw
from tools.docs_site.nodes import PageNode

Draw = Callable[[str], str]
"""Gives the SVG of a graph in the DOT language."""

WIDTH = 700.0
"""Points that a page holds: a wider picture is drawn from left to right, if that is narrower."""

MOST = 9
"""So many boxes a side; a last one says how many more there are."""


def svg(dot: str) -> str:
    """The picture as it stands in a page: one element, without a file's head and a page's white."""
    text = draw(dot, format="svg").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"<title>.*?</title>\n?", "", text)
    text = re.sub(r' id="[^"]*"', "", text)
    text = re.sub(r"xlink:title=", "title=", text)
    return re.sub(r"\n\s*", "", text)


@cache
def graph_picture(graph: str, config: str = "default") -> Picture:
    """The whole picture of a graph, corpora that are alike as one."""
    return draw_graph(graph, load_config(config))


@cache
def stages_picture(graph: str) -> Picture:
    """The picture of the stages of a graph."""
    return draw_graph(graph, load_config("default"), stages=True)


def around(node: PageNode, draw: Draw, links: Mapping[str, str]) -> str:
    """The SVG of a node, what it reads and what reads it, from left to right.

    Args:
        node: of the default configuration, or of the first shipped one that has it.
        draw: makes the SVG.
        links: of a box's short name, the address of its page.
    """
    shown, name = _picture_with(node)
    kept = {edge for edge in shown.arrows if name in edge}
    before, after = {one for one, _ in kept} - {name}, {one for _, one in kept} - {name}
    shown = _part(shown, {name, *before, *after}, kept, links)
    shown = _cut(_cut(shown, sorted(before), name, 0), sorted(after), name, 1)
    boxes = {**shown.boxes, name: _styled(shown.boxes[name], penwidth="2.4")}
    return draw(to_dot(replace(shown, boxes=boxes), inputs=False, legend=False, orient="LR"))


def of_stage(graph: str, stage: str, draw: Draw, links: Mapping[str, str]) -> str:
    """The SVG of a stage: its nodes, and dashed those of other stages that they read."""
    shown = graph_picture(graph)
    own = {name for name, box in shown.boxes.items() if box.node.stage == stage}
    kept = {(one, two) for one, two in shown.arrows if two in own}
    others = {one for one, _ in kept} - own
    part = _part(shown, own | others, kept, links)
    dashed = {name: _styled(part.boxes[name], style="rounded,filled,dashed") for name in others}
    part = replace(part, boxes={**part.boxes, **dashed})
    down = draw(to_dot(part, inputs=False, legend=False))
    if _width(down) <= WIDTH:
        return down
    across = draw(to_dot(part, inputs=False, legend=False, orient="LR"))
    return min(down, across, key=_width)


def _width(drawn: str) -> float:
    """The width of an SVG in points; 0 where it says none."""
    match = re.match(r'<svg width="([\d.]+)pt"', drawn)
    return float(match[1]) if match else 0.0


def overview_of(graph: str, draw: Draw, links: Mapping[str, str]) -> str:
    """The SVG of the stages of a graph, a box each."""
    shown = stages_picture(graph)
    shown = replace(_part(shown, shown.boxes, shown.arrows, links), arrows=shown.arrows)
    return draw(to_dot(shown, legend=False))


def _picture_with(node: PageNode) -> tuple[Picture, str]:
    """A picture that has a node, and the name of its box."""
    names = ["default", *(sorted(shipped()) if node.graph == "retrieval" else [])]
    for config in names:
        shown = graph_picture(node.graph, config)
        for name, box in shown.boxes.items():
            if box.node.short == node.name and bool(box.node.subgraph) == node.of_corpus:
                return shown, name
    raise LookupError(f"no shipped configuration has the node {node.name}")


def _part(
    shown: Picture, names: Iterable[str], edges: Iterable[Edge], links: Mapping[str, str]
) -> Picture:
    """The boxes ``names`` with the arrows ``edges``, each box a link."""
    boxes = {name: _linked(shown.boxes[name], links) for name in sorted(names)}
    homes = {box.node.subgraph for box in boxes.values()}
    return replace(
        shown,
        boxes=boxes,
        arrows=dict.fromkeys(sorted(edges), ""),
        titles={one: title for one, title in shown.titles.items() if one in homes},
    )


def _linked(box: Box, links: Mapping[str, str]) -> Box:
    link = links.get(box.node.short)
    style = {"URL": link, "tooltip": box.node.short} if link else {"tooltip": box.node.short}
    return _styled(box, **style)


def _styled(box: Box, **attributes: str) -> Box:
    return replace(box, style={**box.style, **attributes})


def _cut(shown: Picture, side: list[str], name: str, end: int) -> Picture:
    """The picture with at most so many of the boxes ``side``, which stand at one end of arrows."""
    if len(side) <= MOST:
        return shown
    gone = set(side[MOST - 1 :])
    more = f"{len(gone)} more"
    edge = (name, more) if end else (more, name)
    rest = Described(more, "", "", "", False, "", (), (), {})
    boxes = {one: box for one, box in shown.boxes.items() if one not in gone}
    homes = {box.node.subgraph for box in boxes.values()}
    return replace(
        shown,
        boxes={**boxes, more: Box(rest)},
        arrows={e: mark for e, mark in shown.arrows.items() if not gone & {*e}} | {edge: ""},
        titles={one: title for one, title in shown.titles.items() if one in homes},
    )
