"""What the drawing methods of a driver return."""

import sys

import pytest

from dataflow.visualization.graph_drawing import GraphDrawing
from dataflow.visualization.png import RenderError

DRAWING = GraphDrawing("digraph { a -> b }")


@pytest.mark.parametrize(
    ("name", "format", "written", "begins"),
    [
        ("g.svg", None, "g.svg", b"<?xml"),
        ("g", None, "g.png", b"\x89PNG"),
        ("g.png", "svg", "g.svg", b"<?xml"),
        ("g.dot", None, "g.dot", b"digraph"),
    ],
)
def test_a_file_is_written_in_the_format_of_its_name(tmp_path, name, format, written, begins):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    assert DRAWING.render(tmp_path / name, format) == str(tmp_path / written)
    assert (tmp_path / written).read_bytes().startswith(begins)


def test_a_notebook_shows_the_picture_and_without_graphviz_the_text(monkeypatch):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    assert "<svg" in DRAWING._repr_mimebundle_()["image/svg+xml"]
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setenv("PATH", "")
    assert DRAWING._repr_mimebundle_() == {"text/plain": DRAWING.source}


def test_the_text_needs_no_graphviz_and_a_picture_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
    monkeypatch.setenv("PATH", "")
    assert DRAWING.save(tmp_path / "g.dot") == str(tmp_path / "g.dot")
    assert DRAWING.pipe("dot") == DRAWING.source.encode()
    with pytest.raises(RenderError, match="needs Graphviz"):
        DRAWING.render(tmp_path / "g.png")
