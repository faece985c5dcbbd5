"""The graphs that `crosscorpus render` draws, by their names."""

from collections.abc import Callable

from dataflow.configuration.config_model import Config
from dataflow.driver.config_graphs import describe_config
from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.review.graph import build_review_graph
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_model import Description, describe
from dataflow.visualization.picture import Picture, overview, picture
from dataflow.visualization.png import RenderError
from operators.errors import suggest


def _evaluation(_: Config) -> Description:
    from dataflow.evaluation.graph import build_evaluation_graph  # needs the extra `evaluate`

    return describe(build_evaluation_graph().graph)


_GRAPHS: dict[str, Callable[[Config], Description]] = {
    "retrieval": describe_config,
    "review": lambda _: describe(build_review_graph().graph),
    "ingestion": lambda _: describe(build_ingestion_graph().graph),
    "evaluation": _evaluation,
}


def draw_graph(name: str, config: Config, *, stages: bool = False) -> Picture:
    """The picture of one of the graphs; only the retrieval graph is built from ``config``.

    Sub-graphs that are alike are one cluster. With ``stages``, a box stands for each stage.

    Raises:
        RenderError: there is no graph of that name.
    """
    if name not in _GRAPHS:
        raise RenderError(f"no graph {name!r}{suggest(name, _GRAPHS)}")
    description = _GRAPHS[name](config)
    return overview(description) if stages else fold(picture(description))
