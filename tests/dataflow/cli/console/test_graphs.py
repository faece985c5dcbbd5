from __future__ import annotations

import pytest

from dataflow import load_config
from dataflow.cli.console.graphs import draw_graph
from dataflow.visualization.dot import to_dot
from dataflow.visualization.png import RenderError


@pytest.mark.parametrize(
    ("name", "node"),
    [("retrieval", "fused"), ("ingestion", "chunks"), ("evaluation", "comparison")],
)
def test_each_of_the_three_graphs_is_drawn_by_its_name(name: str, node: str) -> None:
    assert f'"{node}"' in to_dot(draw_graph(name, load_config("default")))


def test_another_graph_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(RenderError, match="did you mean 'retrieval'"):
        draw_graph("retreival", load_config("default"))
