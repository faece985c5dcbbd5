"""Drawing DOT text as a picture, and the fingerprint inside the file that says what it shows."""

import hashlib
import shutil
import struct
import subprocess
import zlib

from operators.errors import CrosscorpusError
from operators.foundation.extras import installing

_KEY = b"dag-sha256\0"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD = len(_SIGNATURE) + 25  # and the IHDR chunk


class RenderError(CrosscorpusError):
    """A picture can't be drawn or read."""


def draw(dot: str, *, dpi: int = 110, format: str = "png") -> bytes:
    """Lay ``dot`` out and return a picture, by pygraphviz if installed, else by a system ``dot``.

    Args:
        dot: the graph in the DOT language.
        dpi: dots an inch; an SVG has none.
        format: of the picture: ``png``, ``svg`` or another that Graphviz knows.

    Raises:
        RenderError: neither is there, or the layout failed.
    """
    options = [f"-Gdpi={dpi}"] if format == "png" else []
    try:
        import pygraphviz
    except ImportError:
        program = shutil.which("dot")
        if program is None:
            raise RenderError(
                f"drawing needs Graphviz: {installing('render')}, or install the program dot; a "
                "picture that ends in .dot or .mmd needs neither"
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
    return png[:_HEAD] + _chunk(b"tEXt", _KEY + mark.encode()) + png[_HEAD:]


def read_stamp(png: bytes) -> str | None:
    """The mark that :func:`stamp` left, or None.

    Raises:
        RenderError: the bytes are no PNG.
    """
    if not png.startswith(_SIGNATURE):
        raise RenderError("not a PNG file")
    position = len(_SIGNATURE)
    while position + 8 <= len(png):
        size, kind = struct.unpack(">I4s", png[position : position + 8])
        body = png[position + 8 : position + 8 + size]
        if kind == b"tEXt" and body.startswith(_KEY):
            return body[len(_KEY) :].decode()
        position += 12 + size
    return None


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
