"""The driver of the ingestion graph, with modules that replace nodes and adapters that watch."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from hamilton.driver import Driver
from hamilton.lifecycle.base import LifecycleAdapter

from dataflow.execution.built_graph import build, check_declared
from dataflow.ingestion import graph

INPUTS = frozenset({"batch", "fingerprint", "rights", "store", "embedder"})


def build_ingestion_graph(
    *,
    modules: Sequence[ModuleType] = (),
    config: Mapping[str, Any] | None = None,
    adapters: Sequence[LifecycleAdapter] = (),
) -> Driver:
    """The ingestion graph alone, without a server or a model.

    Args:
        modules: modules whose nodes replace those of the same name.
        config: Hamilton configuration: parameters by name, and those of ``modules``.
        adapters: Hamilton lifecycle adapters; they see every node's inputs.

    Raises:
        GraphError: a node needs what no node computes.
    """
    built = build((graph, *modules), config or {}, adapters)
    check_declared(built.graph, INPUTS)
    return built
