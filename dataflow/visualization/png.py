"""Pictures as files. No node runs for a picture: it shows the built graph."""

import shutil
import subprocess
from pathlib import Path

from dataflow.visualization.dot import to_dot
from dataflow.visualization.picture import Picture
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

_SUFFIXES = (".png", ".svg", ".dot", ".gv")


class RenderError(CrosscorpusError):
    """A picture can't be drawn."""


def render(shown: Picture, path: Path) -> None:
    """Write a picture to ``path``, whose suffix says the format: .png, .svg, .dot or .gv.

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
    """Lay ``dot`` out and return a picture, by pygraphviz if installed, else by a system ``dot``.

    Args:
        dot: the graph in the DOT language.
        format: of the picture: ``png``, ``svg`` or another that Graphviz knows; ``dot`` and ``gv``
            return the text itself, without Graphviz.

    Raises:
        RenderError: Graphviz is missing, or the layout failed.
    """
    if format in ("dot", "gv"):
        return dot.encode()
    options = ["-Gdpi=72"] if format == "png" else []
    try:
        import pygraphviz
    except ImportError:
        program = shutil.which("dot")
        if program is None:
            raise RenderError(
                f"drawing needs Graphviz: {installing('render')}, or install the program dot; a "
                "picture that ends in .dot needs neither"
            ) from None
        command = [program, f"-T{format}", *options]
        done = subprocess.run(command, input=dot.encode(), capture_output=True, check=False)
        if done.returncode:
            raise RenderError(f"dot failed: {done.stderr.decode().strip()[:300]}") from None
        return done.stdout
    try:
        graph = pygraphviz.AGraph(string=dot)
        return bytes(graph.draw(format=format, prog="dot", args=" ".join(options)))
    except (TypeError, ValueError, OSError) as error:  # dot reports its errors on stderr
        raise RenderError(f"Graphviz can't draw this as {format}: {error}") from None
