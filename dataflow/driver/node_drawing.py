"""Pictures of some nodes of a retrieval graph, with the arguments of Hamilton's drawing methods."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from hamilton.graph import FunctionGraph

from dataflow.driver.retrieval_description import describe_retrieval
from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_drawing import GraphDrawing
from dataflow.visualization.picture import picture


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
    extra = graphviz_kwargs or {}
    attributes = {
        kind: extra[f"{kind}_attr"] for kind in ("graph", "node", "edge") if f"{kind}_attr" in extra
    }
    how: Any = {"legend": show_legend, "orient": orient, "attributes": attributes}
    drawing = GraphDrawing(to_dot(fold(shown), inputs=not hide_inputs, **how))
    if output_file_path:
        drawing.render(output_file_path, (render_kwargs or {}).get("format"))
    return drawing
