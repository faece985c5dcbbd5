"""What the project shows of itself is true."""

from __future__ import annotations

from pathlib import Path

from dataflow import load_config
from dataflow.driver.config_graphs import draw_config
from dataflow.visualization.render import check

ROOT = Path(__file__).parents[1]


def test_the_picture_in_the_readme_shows_the_graph_of_the_default_configuration() -> None:
    assert check(ROOT / "dag.png", draw_config(load_config("default")))
