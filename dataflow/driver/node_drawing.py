"""Pictures of some nodes of a retrieval graph, with the arguments of Hamilton's drawing methods."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hamilton.graph import FunctionGraph
from hamilton.graph_types import HamiltonNode

from dataflow.driver.retrieval_description import describe_retrieval
from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_drawing import GraphDrawing
from dataflow.visualization.picture import Box, Picture, picture

StyleFunction = Callable[..., tuple[dict[str, str], str | None, str | None]]


def draw_nodes(
    graph: FunctionGraph,
    names: Collection[str] | None,
    output_file_path: str | None = None,
    render_kwargs: Mapping[str, Any] | None = None,
    graphviz_kwargs: Mapping[str, Any] | None = None,
    *,
    marks: Mapping[str, str] | None = None,
    show_legend: bool = True,
    orient: str = "TB",
    hide_inputs: bool = False,
    deduplicate_inputs: bool = True,
    show_schema: bool = True,
    custom_style_function: StyleFunction | None = None,
    keep_dot: bool = False,
) -> GraphDrawing:
    """Draw nodes of ``graph``, and write the file if one is named.

    Args:
        graph: a retrieval graph, perhaps with more nodes than the configuration's.
        names: nodes and run-time inputs; None: all of the configuration.
        output_file_path: the file to write; its suffix is the format, ``.png`` without one.
        render_kwargs: ``{"format": ...}`` beats the suffix.
        graphviz_kwargs: ``graph_attr``, ``node_attr``, ``edge_attr``: added to our attributes.
        marks: node -> ``output``, ``override`` or ``path``; an overridden node reads nothing.
        show_legend: draw the legend of colours.
        orient: ``TB`` (default: top to bottom), ``LR``, ``BT`` or ``RL``.
        hide_inputs: leave out the run-time inputs.
        deduplicate_inputs: no effect: each input is listed once, in a table.
        show_schema: no effect: the nodes have no schema.
        custom_style_function: called with ``node`` (a HamiltonNode) and ``node_class``; returns
            Graphviz attributes for the node, a base class (not used) and a legend entry.
        keep_dot: write the DOT text beside the picture.

    Raises:
        RenderError: a file is to be written and Graphviz is missing.
    """
    described = describe_retrieval(graph, names)
    cut = {name for name, mark in (marks or {}).items() if mark == "override"}
    nodes = {
        name: replace(node, needs=(), inputs=()) if name in cut else node
        for name, node in described.nodes.items()
    }
    shown = picture(replace(described, nodes=nodes), marks)
    if custom_style_function is not None:
        shown = _styled(shown, graph, custom_style_function)
    extra = graphviz_kwargs or {}
    attributes = {
        kind: extra[f"{kind}_attr"] for kind in ("graph", "node", "edge") if f"{kind}_attr" in extra
    }
    how: Any = {"legend": show_legend, "orient": orient, "attributes": attributes}
    drawing = GraphDrawing(to_dot(fold(shown), inputs=not hide_inputs, **how))
    if output_file_path:
        written = drawing.render(output_file_path, (render_kwargs or {}).get("format"))
        if keep_dot:
            drawing.save(Path(written).with_suffix(".dot"))
    return drawing


def _styled(shown: Picture, graph: FunctionGraph, style_function: StyleFunction) -> Picture:
    """The picture with the caller's styles and their legend entries."""
    boxes: dict[str, Box] = {}
    legend = dict(shown.legend)
    for name, box in shown.boxes.items():
        node = HamiltonNode.from_node(graph.nodes[name])
        style, _, entry = style_function(node=node, node_class="function")
        boxes[name] = replace(box, style=style)
        if entry:
            legend[entry] = style.get("fillcolor", "#ffffff")
    return replace(shown, boxes=boxes, legend=legend)
