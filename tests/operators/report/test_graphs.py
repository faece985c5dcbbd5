from __future__ import annotations

import pytest
from lxml import html

from operators.report.graphs import ADDED, GraphPair, graph_pair, inline_svg

SVG = f"""<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x "boom">]>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="300pt" height="90pt" viewBox="0 0 300 90" onload="alert(1)">
<script>alert(1)</script><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>
<g id="node1" class="node"><title>fused</title>
<a xlink:href="javascript:alert(1)"><text>linked</text></a>
<polygon fill="{ADDED}" stroke="#30363d" points="0,0 1,1"/>
<text font-family="Helvetica">fused &lt;b&gt;</text></g></svg>"""


def test_a_picture_keeps_shapes_and_text_and_loses_all_that_acts() -> None:
    made = inline_svg(SVG, "The <graph>")
    assert "script" not in made
    assert "javascript" not in made
    assert "onload" not in made
    assert "foreignObject" not in made
    assert " id=" not in made
    assert "fused &lt;b&gt;" in made
    assert 'aria-label="The &lt;graph&gt;"' in made


def test_a_picture_takes_the_colours_of_the_page() -> None:
    made = inline_svg(SVG, "x")
    assert 'fill="var(--added)"' in made
    assert 'stroke="var(--ink)"' in made
    assert "width: 400px" in made  # 300 points


def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="not an SVG"):
        inline_svg("<html/>", "x")


def test_without_graphviz_the_differences_are_text() -> None:
    made = graph_pair("rrf", "default", GraphPair(None, None, "~ fused: a -> b\n"))
    parsed = html.fragment_fromstring(made, create_parent=True)
    assert parsed.findtext(".//code") == "~ fused: a -> b\n"
    assert not list(parsed.iter("svg"))


def test_equal_graphs_are_said_to_be_equal() -> None:
    made = graph_pair("copy", "default", GraphPair(None, None, "no difference", same=True))
    assert made == "<p>The graph of copy is the same as that of default.</p>"


def test_both_pictures_and_the_text_stand_together() -> None:
    made = graph_pair("rrf", "default", GraphPair(SVG, SVG, "~ fused"))
    parsed = html.fragment_fromstring(made, create_parent=True)
    assert [p.text for p in parsed.iter("p")] == ["default", "rrf"]
    assert len(list(parsed.iter("svg"))) == 2
    assert parsed.findtext(".//code") == "~ fused"
