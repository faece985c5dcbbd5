"""Pictures as files. No node runs for a picture: it shows the built graph."""

from pathlib import Path

from dataflow.visualization.dot import to_dot
from dataflow.visualization.picture import Picture
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

_SUFFIXES = (".png", ".svg", ".dot")


class RenderError(CrosscorpusError):
    """A picture can't be drawn."""


def render(shown: Picture, path: Path) -> None:
    """Write a picture to ``path``, whose suffix says the format: .png, .svg or .dot.

    Raises:
        RenderError: the suffix is unknown, or it needs Graphviz and Graphviz is missing.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise RenderError(
            f"{path.name}: write a name that ends in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
        )
    path.write_bytes(draw(to_dot(shown), format=suffix.removeprefix(".")))


def draw(dot: str, *, format: str = "png") -> bytes:
    """Lay ``dot`` out and return a picture.

    Args:
        dot: the graph in the DOT language.
        format: of the picture: ``png``, ``svg`` or another that Graphviz knows; ``dot`` returns the
            text itself, without Graphviz.

    Raises:
        RenderError: Graphviz is missing, or the layout failed.
    """
    if format == "dot":
        return dot.encode()
    try:
        import pygraphviz
    except ImportError:
        raise RenderError(
            f"drawing needs Graphviz: {installing('render')}; a picture that ends in .dot does not"
        ) from None
    try:
        graph = pygraphviz.AGraph(string=dot)
        return bytes(
            graph.draw(format=format, prog="dot", args="-Gdpi=72" if format == "png" else "")
        )
    except (TypeError, ValueError, OSError) as error:  # dot reports its errors on stderr
        raise RenderError(f"Graphviz can't draw this as {format}: {error}") from None
