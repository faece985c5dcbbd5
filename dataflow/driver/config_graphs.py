"""The graphs of configurations: describe, compare.

They are built and not run, so no server and no model is needed. The room that describes and
compares graphs does not know the names of our nodes, so this one has the keys and parameters that
count for them.
"""

from typing import Any

from dataflow.configuration.config_model import Config
from dataflow.driver.retrieval_driver import build_graph
from dataflow.execution.plan import node_tags
from dataflow.visualization.graph_diff import Diff, compare
from dataflow.visualization.graph_model import Description, describe

RESULTS = frozenset({"results", "context_window", "citations", "evidence_level", "notes"})
"""The nodes of an answer. Shipped nodes that none of them reads are unused in a variant."""

_OF_MODULES = ("corpus_modules", "own_modules", "own_rules")
STRUCTURE = ("corpora", *_OF_MODULES, "chosen_variants", "top_parameters")
"""Keys of the configuration that say how the graph is built or described."""


def describe_config(config: Config) -> Description:
    """Describe the retrieval graph that ``config`` builds.

    Raises:
        GraphError: a stage needs what no node computes.
    """
    graph = build_graph(config).graph
    structure = {*STRUCTURE, *(name for name in graph.config if name.endswith("_variant"))}
    return describe(
        graph,
        structure=structure,
        results=lambda final: final.name in RESULTS or "owner" in node_tags(final),
    )


def diff_configs(before: Config, after: Config) -> Diff:
    """Compare the graphs that two configurations build, and their other settings."""
    first, second = describe_config(before), describe_config(after)
    return compare(first, second, _settings(before), _settings(after))


def _settings(config: Config) -> dict[str, Any]:
    """The settings that no node shows as its variant or parameter."""
    corpora = config.corpora.items()
    flat = config.model_dump(exclude={"variants", "parameters", "corpus_defaults", "corpora"})
    return flat | {f"corpora.{name}.deadline_s": options.deadline_s for name, options in corpora}
