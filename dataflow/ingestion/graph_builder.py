"""The driver of the ingestion graph, with modules that replace nodes and adapters that watch."""

import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from hamilton import driver
from hamilton.lifecycle import NodeExecutionHook
from hamilton.lifecycle.base import LifecycleAdapter

from dataflow.execution.graph_checks import LooseInputs, check_declared
from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.execution.releasing_executor import ReleasingExecutor
from dataflow.ingestion import graph

INPUTS = frozenset({"batch", "fingerprint", "store", "embedder", "embed_at_once", "on_embedded"})


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
            .with_modules(graph, *modules)
            .allow_module_overrides()
            .with_config(dict(config or {}))
            .with_adapters(LooseInputs(), *adapters)
            .build()
        )
    built.graph_executor = ReleasingExecutor(built.adapter)
    check_declared(built.graph, INPUTS)
    return built


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
