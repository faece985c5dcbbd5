"""Drawing DOT text, and the fingerprint in the file."""

import re
import struct
import sys
import zlib

import pytest

from dataflow.visualization.png import RenderError, draw, fingerprint, read_stamp, stamp
from operators.foundation.extras import installing


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


HEAD = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
BLANK = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", HEAD) + chunk(b"IEND", b"")


def test_a_stamp_is_read_back_and_leaves_the_rest_as_it_is():
    mark = fingerprint("digraph {}")
    stamped = stamp(BLANK, mark)
    assert read_stamp(stamped) == mark
    assert read_stamp(BLANK) is None
    assert len(stamped) - len(BLANK) == len(mark) + len("dag-sha256") + 1 + 12


def test_what_is_no_png_is_refused():
    with pytest.raises(RenderError, match="not a PNG"):
        read_stamp(b"hello")


def test_without_graphviz_drawing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RenderError, match=re.escape(installing("render"))):
        draw("digraph {}")


@pytest.mark.parametrize(("dot", "format"), [("digraph {", "svg"), ("digraph {}", "nothing")])
def test_what_graphviz_can_not_draw_is_one_error(dot, format):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    with pytest.raises(RenderError, match="Graphviz can't draw"):
        draw(dot, format=format)
