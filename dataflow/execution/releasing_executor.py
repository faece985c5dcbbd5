"""An executor for Hamilton drivers that run again and again over large values."""

from typing import Any

from hamilton import driver
from hamilton.execution.graph_functions import combine_config_and_inputs, execute_subdag
from hamilton.graph import FunctionGraph


class ReleasingExecutor(driver.DefaultGraphExecutor):
    """Executes a graph and lets go of every value that the caller did not ask for.

    Hamilton's own executor leaves the values in a cycle with the function that walks the graph.
    There they stay until Python's collector comes to its oldest generation, and batches pile up.
    """

    def execute(
        self,
        fg: FunctionGraph,
        final_vars: list[str],
        overrides: dict[str, Any],
        inputs: dict[str, Any],
        run_id: str,
    ) -> dict[str, Any]:
        """The values of ``final_vars``."""
        given = combine_config_and_inputs(fg.config, inputs)
        nodes = [fg.nodes[name] for name in final_vars if name in fg.nodes]
        instead, computed = dict(overrides), dict[str, Any]()
        try:
            execute_subdag(nodes, given, fg.adapter, computed, instead, run_id)
            return {name: computed.get(name, inputs.get(name)) for name in final_vars}
        finally:
            for held in (given, instead, computed):
                held.clear()
