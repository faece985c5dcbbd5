"""The ingestion graph: a batch of documents -> chunks -> vectors -> the store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from hamilton import driver
from hamilton.execution.graph_functions import combine_config_and_inputs, execute_subdag
from hamilton.graph import FunctionGraph
from hamilton.lifecycle import NodeExecutionHook
from hamilton.lifecycle.base import LifecycleAdapter

from dataflow.execution.graph_checks import LooseInputs, check_declared
from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.ingestion import chunks, documents, embeddings, stored

MODULES: tuple[ModuleType, ...] = (documents, chunks, embeddings, stored)
INPUTS = frozenset({"batch", "fingerprint", "store", "embedder", "embed_at_once", "on_embedded"})


class NodeSeconds(NodeExecutionHook):
    """Adds up how long each node took, over all runs of a driver."""

    def __init__(self) -> None:
        """Start with no node."""
        self.seconds: dict[str, float] = {}
        self._began: dict[str, float] = {}

    def run_before_node_execution(self, *, node_name: str, **_: Any) -> None:
        """Start a node's clock."""
        self._began[node_name] = time.perf_counter()

    def run_after_node_execution(self, *, node_name: str, **_: Any) -> None:
        """Stop it."""
        took = time.perf_counter() - self._began.pop(node_name)
        self.seconds[node_name] = self.seconds.get(node_name, 0.0) + took


class Forgetting(driver.DefaultGraphExecutor):
    """Executes a graph and lets go of every value but those that were asked for.

    Hamilton's own executor leaves them in a cycle with the function that walks the graph, where
    they stay until Python's collector comes to its oldest generation: batches pile up by then.
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


def build_ingestion_graph(
    *,
    modules: Sequence[ModuleType] = (),
    config: Mapping[str, Any] | None = None,
    adapters: Sequence[LifecycleAdapter] = (),
) -> driver.Driver:
    """The ingestion graph alone, without a server or a model.

    Args:
        modules: modules whose nodes take the place of those of the same name.
        config: Hamilton configuration: parameters by name, and what ``modules`` need.
        adapters: Hamilton lifecycle adapters; they see every node's inputs.

    Raises:
        GraphError: a node needs what no node computes.
    """
    with quiet_hamilton():
        built = (
            driver.Builder()
            .with_modules(*MODULES, *modules)
            .allow_module_overrides()
            .with_config(dict(config or {}))
            .with_adapters(LooseInputs(), *adapters)
            .build()
        )
    built.graph_executor = Forgetting(built.adapter)
    check_declared(built.graph, INPUTS)
    return built
