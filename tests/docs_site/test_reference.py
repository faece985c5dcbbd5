"""The reference names everything that there is, and the pages of people lead nowhere wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.configuration.config_model import load_config
from dataflow.driver.config_graphs import describe_config
from dataflow.evaluation.graph import build_evaluation_graph
from dataflow.ingestion.graph_builder import build_ingestion_graph
from dataflow.review.graph import build_review_graph
from tools.docs_site import __main__ as site
from tools.docs_site.check import faults
from tools.docs_site.node_pages import addresses
from tools.docs_site.nodes import nodes


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every page that is made from the code, with DOT text for its pictures."""
    return site.reference(str)


def test_every_node_of_the_built_graphs_has_a_place(pages: dict[str, str]) -> None:
    retrieval = describe_config(load_config("default")).nodes.values()
    assert {node.short for node in retrieval} <= addresses("retrieval").keys()
    others = (build_review_graph(), build_ingestion_graph(), build_evaluation_graph())
    for graph, built in zip(("review", "ingestion", "evaluation"), others, strict=True):
        made = {node.name for node in built.graph.nodes.values() if not node.user_defined}
        assert made <= addresses(graph).keys()
    for node in nodes():
        page = pages[f"reference/nodes/{node.graph}_{node.stage}.md"]
        place = page.index(f"{{ #{node.name} }}")
        said = page[place : page.find("\n## ", place)]
        assert '<div class="graph"' in said
        for form in node.forms:
            assert not form.variant or f"`{form.variant}`" in said
            told = [one.of_each or one.name for one in (*form.reads, *form.parameters)]
            assert all(f"`{one}`" in said for one in told)


def test_a_broken_link_and_a_script_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="b.html">2</a><a href="#y">3</a>'
        '<a href="https://example.org">4</a><script src="https://example.org/a.js"></script>'
    )
    (tmp_path / "a.css").write_text(
        "@import url(//example.org/b.css); a { background: url(a.png) }"
    )
    assert [*faults(tmp_path)] == [
        "a.html fetches https://example.org/a.js",
        "a.html links b.html: no such file",
        "a.html links #y: no such anchor",
        "a.css fetches //example.org/b.css",
    ]
