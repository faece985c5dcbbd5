"""Pictures of the graphs, and whether a picture is still true.

No server and no model is needed: the graph is built, not run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from dataflow.configuration.catalog import Catalog
from dataflow.configuration.config_model import Config
from dataflow.driver.retrieval_driver import build_graph
from dataflow.visualization.dot import to_dot
from dataflow.visualization.graph_model import Description, describe
from dataflow.visualization.mermaid import to_mermaid
from dataflow.visualization.png import RenderError, draw, fingerprint, read_stamp, stamp
from operators.errors import suggest

Format = Literal["png", "dot", "mermaid"]
GRAPHS = ("retrieval", "ingestion", "evaluation")
_SUFFIXES: dict[str, Format] = {".png": "png", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid"}


def describe_config(config: Config, catalog: Catalog | None = None) -> Description:
    """Describe the retrieval graph that ``config`` builds."""
    return describe(build_graph(config, catalog).graph, config.corpora)


def describe_graph(name: str, config: Config) -> Description:
    """Describe one of ``GRAPHS``; ``config`` is of the retrieval graph alone.

    Raises:
        RenderError: there is none of that name.
    """
    if name == "retrieval":
        return describe_config(config)
    if name == "ingestion":
        from dataflow.ingestion.graph_builder import build_ingestion_graph

        return describe(build_ingestion_graph().graph)
    if name == "evaluation":
        from dataflow.evaluation.graph import build_evaluation_graph

        return describe(build_evaluation_graph().graph)
    raise RenderError(f"no graph {name!r}{suggest(name, GRAPHS)}")


def render(
    graph: Config | Description,
    path: Path,
    format: Format | None = None,
    catalog: Catalog | None = None,
) -> str:
    """Write a picture of a graph to ``path``.

    Args:
        graph: the configuration of a retrieval graph, or any graph described.
        path: the file to write.
        format: ``png``, ``dot`` or ``mermaid``; None: by the file's suffix
            (.png, .dot, .gv, .mmd).
        catalog: the stages that exist; None: those of the shipped retrieval graph.

    Returns:
        The picture's fingerprint: SHA-256 of its DOT text.

    Raises:
        RenderError: the format is unknown, or a PNG is asked for and Graphviz is missing.
    """
    kind = format or _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise RenderError(f"{path.name}: give a format, or a name in {', '.join(_SUFFIXES)}")
    description = _described(graph, catalog)
    dot = to_dot(description)
    if kind != "mermaid":
        return write_dot(dot, path, png=kind == "png")
    path.write_text(to_mermaid(description), encoding="utf-8")
    return fingerprint(dot)


def write_dot(dot: str, path: Path, *, png: bool) -> str:
    """Write DOT text to ``path``, drawn or as it is; return its fingerprint.

    Raises:
        RenderError: a PNG is asked for and Graphviz is missing.
    """
    mark = fingerprint(dot)
    if png:
        path.write_bytes(stamp(draw(dot), mark))
    else:
        path.write_text(dot, encoding="utf-8")
    return mark


def check(path: Path, graph: Config | Description, catalog: Catalog | None = None) -> bool:
    """Whether the PNG at ``path`` shows ``graph``; needs no Graphviz.

    Raises:
        RenderError: there is no such file, or it is no PNG.
    """
    try:
        found = read_stamp(path.read_bytes())
    except OSError as error:
        raise RenderError(f"can't read {path.name}: {error.strerror}") from None
    return found == fingerprint(to_dot(_described(graph, catalog)))


def _described(graph: Config | Description, catalog: Catalog | None) -> Description:
    return graph if isinstance(graph, Description) else describe_config(graph, catalog)
