"""The driver of the ingestion graph, with modules that replace nodes and adapters that watch."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from hamilton import driver
from hamilton.lifecycle.base import LifecycleAdapter

from dataflow.execution.graph_checks import LooseInputs, check_declared
from dataflow.execution.hamilton_logs import quiet_hamilton
from dataflow.execution.scheduler import Scheduler
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
    built.graph_executor = Scheduler(0, adapter=built.adapter)
    check_declared(built.graph, INPUTS)
    return built
