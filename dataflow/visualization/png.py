"""Pictures as files, and the fingerprint inside a PNG by which one sees whether it is still true.

Nothing is run for a picture: it shows the built graph.
"""

import hashlib
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

from dataflow.visualization.dot import to_dot
from dataflow.visualization.picture import Picture
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

_KEY = b"dag-sha256\0"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_SUFFIXES = (".png", ".svg", ".dot", ".gv")
_HEAD = len(_SIGNATURE) + 25  # and the IHDR chunk


class RenderError(CrosscorpusError):
    """A picture can't be drawn or read."""


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
    drawn = draw(dot, format=suffix.removeprefix("."))
    path.write_bytes(stamp(drawn, mark) if suffix == ".png" else drawn)
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


def draw(dot: str, *, format: str = "png") -> bytes:
    """Lay ``dot`` out and return a picture, by pygraphviz if installed, else by a system ``dot``.

    Args:
        dot: the graph in the DOT language.
        format: of the picture: ``png``, ``svg`` or another that Graphviz knows; ``dot`` and ``gv``
            are the text itself, which needs neither.

    Raises:
        RenderError: neither is there, or the layout failed.
    """
    if format in ("dot", "gv"):
        return dot.encode()
    options = ["-Gdpi=110"] if format == "png" else []
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
    except (TypeError, ValueError, OSError) as error:  # it says itself on stderr what is wrong
        raise RenderError(f"Graphviz can't draw this as {format}: {error}") from None


def fingerprint(dot: str) -> str:
    """SHA-256 of the DOT text: of everything that a picture shows."""
    return hashlib.sha256(dot.encode()).hexdigest()


def stamp(png: bytes, mark: str) -> bytes:
    """``png`` with ``mark`` in a text chunk behind its header."""
    text = _KEY + mark.encode()
    chunk = b"tEXt" + text
    framed = struct.pack(">I", len(text)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:_HEAD] + framed + png[_HEAD:]


def read_stamp(png: bytes) -> str | None:
    """The mark that :func:`stamp` left, or None.

    Raises:
        RenderError: the bytes are no PNG.
    """
    if not png.startswith(_SIGNATURE):
        raise RenderError("not a PNG file")
    found = re.match(b"tEXt" + _KEY + b"([0-9a-f]{64})", png[_HEAD + 4 :])
    return found[1].decode() if found else None
