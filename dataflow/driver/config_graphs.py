"""The graphs of configurations: describe, compare, draw.

They are built and not run, so no server and no model is needed.
"""

from typing import Any

from dataflow.configuration.config_model import Config
from dataflow.driver.retrieval_description import describe_retrieval
from dataflow.driver.retrieval_driver import build_graph
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import Diff, compare, difference_picture
from dataflow.visualization.graph_model import Description
from dataflow.visualization.picture import Picture


def describe_config(config: Config) -> Description:
    """Describe the retrieval graph that ``config`` builds.

    Raises:
        GraphError: a stage needs what no node computes.
    """
    return describe_retrieval(build_graph(config).graph)


def diff_configs(before: Config, after: Config) -> Diff:
    """Compare the graphs that two configurations build, and their other settings."""
    first, second = describe_config(before), describe_config(after)
    return compare(first, second, _settings(before), _settings(after))


def draw_difference(diff: Diff) -> Picture:
    """The picture of both graphs of a diff; corpora with the same changes share one cluster."""
    return fold(difference_picture(*diff.graphs))


def _settings(config: Config) -> dict[str, Any]:
    """The settings that no node shows as its variant or parameter."""
    corpora = config.corpora.items()
    flat = config.model_dump(exclude={"variants", "parameters", "corpus_defaults", "corpora"})
    return flat | {f"corpora.{name}.deadline_s": options.deadline_s for name, options in corpora}
