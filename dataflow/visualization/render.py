"""Pictures as files, and whether such a file is still true.

Nothing is run for a picture: it shows the built graph.
"""

from pathlib import Path
from typing import Literal

from dataflow.visualization.dot import to_dot
from dataflow.visualization.mermaid import to_mermaid
from dataflow.visualization.picture import Picture
from dataflow.visualization.png import RenderError, draw, fingerprint, read_stamp, stamp

Format = Literal["png", "svg", "dot", "mermaid"]
_SUFFIXES: dict[str, Format] = {
    ".png": "png",
    ".svg": "svg",
    ".dot": "dot",
    ".gv": "dot",
    ".mmd": "mermaid",
}


def render(shown: Picture, path: Path, format: Format | None = None) -> str:
    """Write a picture to ``path``.

    Args:
        shown: of a graph, or of the difference of two; folded or not.
        path: the file to write.
        format: ``png``, ``svg``, ``dot`` or ``mermaid``; None: by the file's suffix
            (.png, .svg, .dot, .gv, .mmd).

    Returns:
        The picture's fingerprint: SHA-256 of its DOT text.

    Raises:
        RenderError: the format is unknown, or it needs Graphviz and Graphviz is missing.
    """
    kind = format or _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise RenderError(f"{path.name}: write a name that ends in {', '.join(_SUFFIXES)}")
    dot = to_dot(shown)
    mark = fingerprint(dot)
    if kind == "png":
        path.write_bytes(stamp(draw(dot), mark))
    elif kind == "svg":
        path.write_bytes(draw(dot, format="svg"))
    else:
        path.write_text(dot if kind == "dot" else to_mermaid(shown), encoding="utf-8")
    return mark


def check(path: Path, shown: Picture) -> bool:
    """Whether the PNG at ``path`` shows this picture; needs no Graphviz.

    Raises:
        RenderError: there is no such file, or it is no PNG.
    """
    try:
        found = read_stamp(path.read_bytes())
    except OSError as error:
        raise RenderError(f"can't read {path.name}: {error.strerror}") from None
    return found == fingerprint(to_dot(shown))
