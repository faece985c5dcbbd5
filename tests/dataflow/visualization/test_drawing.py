"""Pictures as DOT text and as files, and whether they are still true."""

import re
import sys
from dataclasses import replace

import pytest

from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold
from dataflow.visualization.picture import picture
from dataflow.visualization.png import RenderError, draw, render
from operators.foundation.extras import installing


def lines_of(dot):
    return {line.split('"')[1]: line for line in dot.splitlines() if " [label=<" in line}


def test_a_sub_graph_is_a_cluster_and_a_variant_stands_under_the_name(described):
    dot = to_dot(picture(described()))
    assert dot.count("subgraph") == 4
    lines = lines_of(dot)
    assert "<b>mean</b>" in lines["buoy.mean"]
    assert ">trimmed<" in lines["buoy.mean"]
    assert dot.count('"_inputs" [') == dot.count('"_legend" [') == 1


def test_a_folded_cluster_has_the_title_of_its_group(described):
    assert "<b>north, south x 2</b>" in to_dot(fold(picture(described({"north": {}, "south": {}}))))


def test_hostile_names_stay_text(described):
    shown = picture(described())
    box = replace(shown.boxes["buoy"], notes=('<b onclick="x">&"',))
    dot = to_dot(replace(shown, boxes={**shown.boxes, "buoy": box}))
    assert "<b onclick" not in dot
    assert "&lt;b onclick" in dot


def test_without_graphviz_drawing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygraphviz", None)
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


def test_a_foreign_graph_is_drawn(tmp_path, shown):
    pytest.importorskip("pygraphviz", reason="drawing needs the extra render")
    for suffix, begins in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".dot", b"digraph")):
        path = tmp_path / f"shown{suffix}"
        render(shown, path)
        assert path.read_bytes().startswith(begins)


def test_the_format_follows_the_suffix(tmp_path, shown):
    render(shown, tmp_path / "g.dot")
    assert (tmp_path / "g.dot").read_text().startswith("digraph")
    with pytest.raises(RenderError, match=r"\.png, \.svg or \.dot"):
        render(shown, tmp_path / "g.txt")
