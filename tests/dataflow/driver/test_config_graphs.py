"""The graphs that configurations build, drawn and compared."""

from __future__ import annotations

from dataflow import load_config
from dataflow.driver.config_graphs import (
    diff_configs,
    draw_difference,
)
from dataflow.visualization.dot import to_dot

DEFAULT, RRF = load_config("default"), load_config("rrf")


def test_the_difference_names_the_variants_and_is_drawn_folded() -> None:
    found = diff_configs(DEFAULT, RRF)
    assert "fused" in {change.where for change in found.implementations}
    assert to_dot(draw_difference(found)).count("subgraph") == 1


def test_a_setting_that_no_node_shows_is_told() -> None:
    found = diff_configs(DEFAULT, DEFAULT.with_changes({"workers": 3}))
    assert [change.where for change in found.settings] == ["workers"]
