"""Chosen nodes of a graph as a drawing."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.driver.node_drawing import draw_nodes


def test_only_the_chosen_nodes_are_drawn(whole_driver: Any) -> None:
    shown = draw_nodes(whole_driver.graph, {"fused", "weighted"}, None, None, None)
    assert '"weighted"' in shown.source
    assert '"results"' not in shown.source


def test_attributes_of_graphviz_go_into_the_drawing(whole_driver: Any) -> None:
    extra = {"graph_attr": {"bgcolor": "papayawhip"}}
    shown = draw_nodes(whole_driver.graph, {"fused", "weighted"}, None, None, extra)
    assert "papayawhip" in shown.source


def test_an_option_that_hamilton_does_not_have_is_refused(whole_driver: Any) -> None:
    with pytest.raises(TypeError):
        draw_nodes(whole_driver.graph, {"fused"}, None, None, None, colour_blind=True)
