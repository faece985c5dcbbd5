"""Pictures as DOT text and as files, and whether they are still true."""

import re
import sys

import pytest

from dataflow.visualization.dot import to_dot
from dataflow.visualization.folding import fold
from dataflow.visualization.graph_diff import difference_picture
from dataflow.visualization.graph_model import describe
from dataflow.visualization.picture import MARKS, picture
from dataflow.visualization.png import (
    RenderError,
    draw,
    render,
)
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


def test_what_was_removed_is_dashed_and_of_another_colour_and_so_are_its_arrows(described):
    dot = to_dot(difference_picture(described(), described({"north": {}, "south": {}})))
    box = lines_of(dot)["west.mean"]
    assert MARKS["removed"] in box
    assert "dashed" in box
    assert "<s>" in box
    (arrow,) = re.findall(r'"west\.reading" -> "west\.mean"(.*);', dot)
    assert "dashed" in arrow
    assert "color=" in arrow


def test_the_tables_may_be_left_out_and_the_orientation_changed(described):
    dot = to_dot(
        picture(described()),
        inputs=False,
        legend=False,
        orient="LR",
    )
    assert '"_inputs"' not in dot
    assert '"_legend"' not in dot
    assert "rankdir=LR" in dot


def test_hostile_values_stay_text(weather):
    hostile = {"north": {}, "south": {"window": '<b onclick="x">&"'}}
    shown = fold(picture(describe(weather(hostile), structure={"stations"})))
    assert "<b onclick" not in to_dot(shown)
    assert "&lt;b onclick" in to_dot(shown)


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


def test_the_format_follows_the_suffix(tmp_path, shown):
    render(shown, tmp_path / "g.gv")
    assert (tmp_path / "g.gv").read_text().startswith("digraph")
    with pytest.raises(RenderError, match=r"\.png, \.svg, \.dot"):
        render(shown, tmp_path / "g.txt")
