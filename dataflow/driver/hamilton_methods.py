"""The methods of Hamilton's driver on a RetrievalDriver, for readers who know Hamilton.

They have Hamilton's names and arguments and call the wrapped Hamilton driver. Names, inputs and
overrides are checked first: Hamilton ignores an override of an unknown node, and its errors print
values. The pictures are ours: Hamilton's draw every node of every corpus and need ``dot``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from hamilton.driver import Driver
from hamilton.graph_types import HamiltonNode

from dataflow.driver.validation import check_call
from dataflow.execution.built_graph import GraphError
from dataflow.execution.plan import make_plan

if TYPE_CHECKING:
    from dataflow.visualization.graph_drawing import GraphDrawing

Checked = tuple[list[str], dict[str, Any], dict[str, Any]]
Given = Mapping[str, Any] | None


def _of_nodes(ask: Callable[..., list[HamiltonNode]]) -> Callable[..., list[HamiltonNode]]:
    """Hamilton's method ``ask`` about nodes; raises UnknownName for a node that the graph lacks."""

    @wraps(ask)
    def checked(self: HamiltonMethods, *names: str, **named: str) -> list[HamiltonNode]:
        also = dict(zip(named, self._known(named.values()), strict=True))
        return list(ask(self.hamilton, *self._known(names), **also))

    return checked


class HamiltonMethods:
    """Hamilton's methods to inspect and draw a graph.

    The methods that draw take the arguments of :func:`dataflow.driver.node_drawing.draw_nodes`,
    which are Hamilton's without ``custom_style_function`` and ``keep_dot``; ``files`` are
    ``output_file_path`` and the two after it. Only a file other than ``.dot`` needs Graphviz:
    without it a RenderError says what to install.

    Attributes:
        hamilton: the wrapped Hamilton driver.
    """

    hamilton: Driver
    _checked: Callable[[Sequence[Any], Given, Given], Checked]  # raises if the call is invalid
    seen_by: Callable[[Any], Any]  # the driver of a caller with rights

    def list_available_variables(
        self, *, tag_filter: dict[str, str | list[str] | None] | None = None
    ) -> list[HamiltonNode]:
        """Every node and input, or those with these tags; a tag value of None matches any value."""
        return list(self.hamilton.list_available_variables(tag_filter=tag_filter))

    what_is_upstream_of = _of_nodes(Driver.what_is_upstream_of)
    what_is_downstream_of = _of_nodes(Driver.what_is_downstream_of)
    what_is_the_path_between = _of_nodes(Driver.what_is_the_path_between)

    def has_cycles(self, final_vars: Sequence[Any]) -> bool:
        """Whether the dependencies of ``final_vars`` contain a cycle."""
        return bool(self.hamilton.has_cycles(self._known(final_vars)))

    def validate_execution(
        self, final_vars: Sequence[Any], overrides: Given = None, inputs: Given = None
    ) -> None:
        """Check a call without running it.

        Raises:
            CrosscorpusError: what :meth:`execute` would raise before it runs the first node.
        """
        self._planned(final_vars, inputs, overrides)

    def export_execution(
        self, final_vars: Sequence[Any], inputs: Given = None, overrides: Given = None
    ) -> str:
        """The nodes of a call as JSON: names, tags, types, dependencies, source."""
        wanted, run_inputs, instead = self._planned(final_vars, inputs, overrides)
        return str(self.hamilton.export_execution(wanted, run_inputs, instead))

    def display_all_functions(self, *files: Any, **drawing: Any) -> GraphDrawing:
        """Draw the whole graph."""
        return self._drawn(None, *files, **drawing)

    def display_upstream_of(self, *node_names: str, **drawing: Any) -> GraphDrawing:
        """Draw these nodes and their dependencies."""
        names = {node.name for node in self.what_is_upstream_of(*node_names)}
        return self._drawn(names, **drawing)

    def display_downstream_of(self, *node_names: str, **drawing: Any) -> GraphDrawing:
        """Draw these nodes, the nodes that depend on them, and the other inputs of those."""
        names = _with_needs(self.what_is_downstream_of(*node_names))
        return self._drawn(names, **drawing)

    def visualize_path_between(
        self,
        upstream_node_name: str,
        downstream_node_name: str,
        *files: Any,
        strict_path_visualization: bool = False,
        **drawing: Any,
    ) -> GraphDrawing:
        """Draw the paths from one node to another, and, unless strict, the other nodes they read.

        Raises:
            UnknownName: there is no such node.
            GraphError: there is no path between them.
        """
        path = self.what_is_the_path_between(upstream_node_name, downstream_node_name)
        if not path:
            raise GraphError(
                f"nothing leads from {upstream_node_name!r} to {downstream_node_name!r}"
            )
        on_path = {node.name for node in path}
        names = on_path if strict_path_visualization else _with_needs(path)
        marks = dict.fromkeys(on_path, "path")
        return self._drawn(names, *files, marks=marks, **drawing)

    def visualize_execution(
        self,
        final_vars: Sequence[Any],
        output_file_path: str | None = None,
        render_kwargs: Given = None,
        inputs: Given = None,
        graphviz_kwargs: Given = None,
        overrides: Given = None,
        *,
        bypass_validation: bool = False,
        **look: Any,
    ) -> GraphDrawing:
        """Draw what a call would run, with its outputs and overrides marked.

        With ``bypass_validation`` it draws a call with a missing or wrong input too.
        """
        if bypass_validation:
            wanted, run_inputs, instead = self._known(final_vars), inputs, dict(overrides or {})
        else:
            wanted, run_inputs, instead = self._planned(final_vars, inputs, overrides)
        nodes, _ = self.hamilton.graph.get_upstream_nodes(wanted, run_inputs, instead)
        marks = dict.fromkeys(wanted, "output") | dict.fromkeys(instead, "override")
        names = {node.name for node in nodes}
        files = (output_file_path, render_kwargs, graphviz_kwargs)
        return self._drawn(names, *files, marks=marks, **look)

    def _drawn(self, names: Collection[str] | None, *files: Any, **look: Any) -> GraphDrawing:
        from dataflow.driver.node_drawing import draw_nodes  # queries draw nothing

        return draw_nodes(self.hamilton.graph, names, *files, **look)

    def _known(self, names: Iterable[Any]) -> list[str]:
        """The names of nodes; raises if the graph lacks one."""
        known = node_names(names)
        check_call(self.hamilton.graph, known, {}, {}, fixed=())
        return known

    def _planned(self, final_vars: Sequence[Any], inputs: Given, overrides: Given) -> Checked:
        """A checked call without missing inputs."""
        if inputs and "principals" in inputs:
            own = dict(inputs)
            planned: Checked = self.seen_by(own.pop("principals"))._planned(
                final_vars, own, overrides
            )
            return planned
        wanted, run_inputs, instead = self._checked(final_vars, inputs, overrides)
        make_plan(self.hamilton.graph, wanted, instead, run_inputs)
        return wanted, run_inputs, instead


def node_names(wanted: Iterable[Any]) -> list[str]:
    """The names of the requested nodes; a Hamilton node is replaced by its name."""
    return [one.name if isinstance(one, HamiltonNode) else one for one in wanted]


def _with_needs(nodes: Iterable[HamiltonNode]) -> set[str]:
    """The names of ``nodes`` and of their dependencies."""
    return {
        name
        for node in nodes
        for name in (node.name, *node.required_dependencies, *node.optional_dependencies)
    }
