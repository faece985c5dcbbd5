"""The three graphs that `crosscorpus render` draws, by their names."""

from collections.abc import Callable

from hamilton.driver import Driver

from dataflow.configuration.config_model import Config
from dataflow.driver.config_graphs import draw_config
from dataflow.evaluation.graph import build_evaluation_graph
from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_model import describe
from dataflow.visualization.picture import Picture, picture
from dataflow.visualization.png import RenderError
from operators.errors import suggest

_BUILDERS: dict[str, Callable[[], Driver]] = {
    "ingestion": build_ingestion_graph,
    "evaluation": build_evaluation_graph,
}


def draw_graph(name: str, config: Config, *, unfold: bool = False) -> Picture:
    """The picture of one of the graphs.

    Args:
        name: ``retrieval``, ``ingestion`` or ``evaluation``.
        config: what the retrieval graph is built from; the others have none.
        unfold: give every sub-graph a cluster of its own, also where several are alike.

    Raises:
        RenderError: there is no graph of that name.
    """
    if name == "retrieval":
        return draw_config(config, unfold=unfold)
    if name not in _BUILDERS:
        raise RenderError(f"no graph {name!r}{suggest(name, ('retrieval', *_BUILDERS))}")
    shown = picture(describe(_BUILDERS[name]().graph))
    return shown if unfold else fold(shown)
