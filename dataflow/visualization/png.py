"""Drawing DOT text as a picture, and the fingerprint inside the file that says what it shows."""

import hashlib
import re
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


def draw(dot: str, *, format: str = "png") -> bytes:
    """Lay ``dot`` out and return a picture, by pygraphviz if installed, else by a system ``dot``.

    Args:
        dot: the graph in the DOT language.
        format: of the picture: ``png``, ``svg`` or another that Graphviz knows.

    Raises:
        RenderError: neither is there, or the layout failed.
    """
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
