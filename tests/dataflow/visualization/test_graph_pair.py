from __future__ import annotations

import importlib.util
import shutil

import pytest

from dataflow import load_config
from dataflow.visualization import graph_pair as pair
from dataflow.visualization.graph_pair import alike, folded, graph_pair
from dataflow.visualization.png import RenderError
from dataflow.visualization.render import describe_config
from operators.report.graphs import ADDED, CHANGED, REMOVED

needs_graphviz = pytest.mark.skipif(
    importlib.util.find_spec("pygraphviz") is None and shutil.which("dot") is None,
    reason="drawing needs Graphviz",
)
DEFAULT = load_config("default")
RRF = DEFAULT.with_changes({"variants": {"fused": "rrf"}})


def test_corpora_that_look_the_same_in_both_graphs_are_one() -> None:
    first = describe_config(DEFAULT)
    corpus, *others = first.corpora
    assert alike(first, first, {}) == {", ".join(first.corpora): first.corpora}
    groups = alike(first, first, {f"{corpus}.merged": CHANGED})
    assert groups == {corpus: [corpus], ", ".join(others): others}


def test_a_folded_graph_has_one_corpus_a_group_and_no_loose_end() -> None:
    graph = describe_config(DEFAULT)
    small = folded(graph, {"every corpus": graph.corpora})
    assert small.corpora == ["every corpus"]
    assert small.answers["every corpus"] in small.nodes
    for node in small.nodes.values():
        assert node.name == f"{node.corpus}.{node.short}" or not node.corpus
        assert all(need in small.nodes for need in node.needs)
        assert node.field_of in {"", *small.nodes}
    one = len([node for node in graph.nodes.values() if node.corpus == graph.corpora[0]])
    assert len([node for node in small.nodes.values() if node.corpus]) == one


def test_equal_configurations_have_no_pictures() -> None:
    found = graph_pair(DEFAULT, load_config("default"))
    assert found.same
    assert found.before is found.after is None


@needs_graphviz
def test_what_differs_is_coloured_in_both_pictures() -> None:
    found = graph_pair(DEFAULT, RRF)
    assert found.before
    assert found.after
    assert found.before.count(CHANGED) == found.after.count(CHANGED) > 0
    assert ADDED not in found.after
    assert ">convex<" in found.before
    assert ">rrf<" in found.after
    assert "fused" in found.text


@needs_graphviz
def test_a_corpus_that_only_one_graph_has_is_coloured_there() -> None:
    more = DEFAULT.with_changes({"corpora": {"tickets": {"label": "[tickets: {title}]"}}})
    found = graph_pair(DEFAULT, more)
    assert found.before
    assert found.after
    assert ADDED not in found.before
    assert ADDED in found.after
    assert "tickets" in found.after
    back = graph_pair(more, DEFAULT)
    assert back.before
    assert REMOVED in back.before


def test_without_graphviz_the_text_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(dot: str, **options: object) -> bytes:
        raise RenderError("no Graphviz")

    monkeypatch.setattr(pair, "draw", missing)
    found = graph_pair(DEFAULT, RRF)
    assert found.before is found.after is None
    assert "fusion.fused__convex -> fusion.fused__rrf" in found.text
