from __future__ import annotations

import subprocess
import sys

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


def test_only_the_graph_of_evaluation_needs_the_extra_that_measures() -> None:
    program = """
import sys

sys.modules["ir_measures"] = None
from dataflow import load_config
from dataflow.cli.console.graphs import draw_graph

for name in ("retrieval", "ingestion", "evaluation"):
    draw_graph(name, load_config("default"))
    print(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["retrieval", "ingestion"]
    assert "ir_measures" in done.stderr


def test_another_graph_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(RenderError, match="did you mean 'retrieval'"):
        draw_graph("retreival", load_config("default"))
