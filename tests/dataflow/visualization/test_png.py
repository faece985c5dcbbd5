"""Pictures as files, and whether they are still true."""

import re
import struct
import sys
import zlib

import pytest

from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import difference_picture
from dataflow.visualization.picture import picture
from dataflow.visualization.png import (
    RenderError,
    check,
    draw,
    fingerprint,
    read_stamp,
    render,
    stamp,
)
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


@pytest.fixture
def shown(described):
    return fold(picture(described()))


def test_a_foreign_graph_and_the_difference_of_two_are_drawn(tmp_path, described, shown):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    both = difference_picture(described(), described({"north": {}, "south": {}}))
    for number, one in enumerate((shown, both)):
        for suffix, begins in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".dot", b"digraph")):
            path = tmp_path / f"{number}{suffix}"
            render(one, path)
            assert path.read_bytes().startswith(begins)


def test_a_picture_carries_the_fingerprint_of_its_graph(tmp_path, described, shown):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    path = tmp_path / "dag.png"
    mark = render(shown, path)
    assert read_stamp(path.read_bytes()) == mark == fingerprint(to_dot(shown))
    assert check(path, shown)
    assert not check(path, picture(described()))


def test_checking_needs_no_graphviz(tmp_path, shown, monkeypatch):
    path = tmp_path / "dag.png"
    path.write_bytes(
        stamp(
            b"\x89PNG\r\n\x1a\n" + (13).to_bytes(4, "big") + b"IHDR" + bytes(17),
            fingerprint(to_dot(shown)),
        )
    )
    monkeypatch.setattr("dataflow.visualization.png.draw", None)
    assert check(path, shown)


def test_a_file_that_is_missing_or_no_png_says_so(tmp_path, shown):
    with pytest.raises(RenderError, match="can't read none"):
        check(tmp_path / "none.png", shown)
    (tmp_path / "text.png").write_text("hello")
    with pytest.raises(RenderError, match="not a PNG"):
        check(tmp_path / "text.png", shown)


def test_the_format_follows_the_suffix(tmp_path, shown):
    render(shown, tmp_path / "g.gv")
    assert (tmp_path / "g.gv").read_text().startswith("digraph")
    with pytest.raises(RenderError, match=r"\.png, \.svg, \.dot"):
        render(shown, tmp_path / "g.txt")
