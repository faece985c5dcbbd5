from __future__ import annotations

from typing import Any

from dataflow.driver.retrieval_description import describe_retrieval


def test_what_names_a_corpus_is_no_difference_between_corpora(whole_driver: Any) -> None:
    nodes = describe_retrieval(whole_driver.graph).nodes
    assert nodes["wiki.merged"].parameters == nodes["code.merged"].parameters
    assert "fused_variant" not in nodes["provenance"].parameters


def test_the_named_nodes_alone_are_described(whole_driver: Any) -> None:
    found = describe_retrieval(whole_driver.graph, {"fused", "weighted"})
    assert set(found.nodes) == {"fused", "weighted"}
