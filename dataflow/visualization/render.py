"""Pictures as files, and whether such a file is still true.

Nothing is run for a picture: it shows the built graph.
"""

from pathlib import Path

from dataflow.visualization.dot import to_dot
from dataflow.visualization.picture import Picture
from dataflow.visualization.png import RenderError, draw, fingerprint, read_stamp, stamp

_SUFFIXES = (".png", ".svg", ".dot", ".gv")


def render(shown: Picture, path: Path) -> str:
    """Write a picture to ``path``, whose suffix says the format: .png, .svg, .dot or .gv.

    Returns:
        The picture's fingerprint: SHA-256 of its DOT text.

    Raises:
        RenderError: the suffix is unknown, or it needs Graphviz and Graphviz is missing.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise RenderError(f"{path.name}: write a name that ends in {', '.join(_SUFFIXES)}")
    dot = to_dot(shown)
    mark = fingerprint(dot)
    if suffix == ".png":
        path.write_bytes(stamp(draw(dot), mark))
    elif suffix == ".svg":
        path.write_bytes(draw(dot, format="svg"))
    else:
        path.write_text(dot, encoding="utf-8")
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
