"""The methods of Hamilton's driver on a RetrievalDriver, for readers who know Hamilton.

They have Hamilton's names and arguments. Names, inputs and overrides are checked first: Hamilton
ignores an override of an unknown node, and its errors print values. The driver's ``hamilton`` has
Hamilton's other methods; pictures that fold what is alike are those of ``crosscorpus render``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hamilton.driver import Driver
from hamilton.graph_types import HamiltonNode

from dataflow.execution.plan import make_plan

Checked = tuple[list[str], dict[str, Any], dict[str, Any]]
Given = Mapping[str, Any] | None


class HamiltonMethods:
    """Hamilton's methods to inspect a graph.

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

    def validate_execution(
        self, final_vars: Sequence[Any], overrides: Given = None, inputs: Given = None
    ) -> None:
        """Check a call without running it.

        Raises:
            CrosscorpusError: what :meth:`execute` would raise before it runs the first node.
        """
        if inputs and "principals" in inputs:
            own = dict(inputs)
            caller = self.seen_by(own.pop("principals"))
            caller.validate_execution(final_vars, overrides, own)
            return
        wanted, run_inputs, instead = self._checked(final_vars, inputs, overrides)
        make_plan(self.hamilton.graph, wanted, instead, run_inputs)


def node_names(wanted: Iterable[Any]) -> list[str]:
    """The names of the requested nodes; a Hamilton node is replaced by its name."""
    return [one.name if isinstance(one, HamiltonNode) else one for one in wanted]
