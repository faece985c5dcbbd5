"""Pictures as files, and whether they are still true."""

import re
import sys

import pytest

from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import difference_picture
from dataflow.visualization.picture import picture
from dataflow.visualization.png import (
    RenderError,
    check,
    draw,
    render,
)
from operators.foundation.extras import installing


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


def test_a_picture_is_compared_by_its_text_which_needs_no_graphviz(
    tmp_path, described, shown, monkeypatch
):
    path = tmp_path / "dag.dot"
    render(shown, path)
    monkeypatch.setattr("dataflow.visualization.png.draw", None)
    assert check(path, shown)
    assert not check(path, picture(described()))
    with pytest.raises(RenderError, match="can't read none"):
        check(tmp_path / "none.dot", shown)


def test_the_format_follows_the_suffix(tmp_path, shown):
    render(shown, tmp_path / "g.gv")
    assert (tmp_path / "g.gv").read_text().startswith("digraph")
    with pytest.raises(RenderError, match=r"\.png, \.svg, \.dot"):
        render(shown, tmp_path / "g.txt")
