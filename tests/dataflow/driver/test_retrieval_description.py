from __future__ import annotations

from pathlib import Path
from typing import Any

from dataflow import load_config
from dataflow.configuration.config_model import as_config
from dataflow.driver.config_graphs import describe_config
from dataflow.driver.retrieval_description import describe_retrieval


def test_what_names_a_corpus_is_no_difference_between_corpora(whole_driver: Any) -> None:
    nodes = describe_retrieval(whole_driver.graph).nodes
    for name in ("vector_search", "text_search", "linked_search"):
        assert nodes[f"wiki.{name}"].parameters == nodes[f"docs.{name}"].parameters


def test_the_named_nodes_alone_are_described(whole_driver: Any) -> None:
    found = describe_retrieval(whole_driver.graph, {"fused", "weighted"})
    assert set(found.nodes) == {"fused", "weighted"}


def test_what_nothing_reads_under_the_chosen_variants_is_not_described() -> None:
    shown = describe_config(load_config("rrf")).nodes
    read = {name for node in shown.values() for name in (*node.needs, node.field_of)}
    ends = {name for name in shown.keys() - read if shown[name].field_of not in shown}
    assert ends == {"citations", "context_window", "evidence_level", "notes"}
    assert "lexical_weight" in describe_config(load_config("default")).nodes


def test_a_node_of_ones_own_is_described_though_nothing_reads_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import polars as pl\n\n\ndef longest(results: pl.DataFrame) -> int:\n"
        '    """Characters of the longest passage."""\n'
        '    return results["text"].str.len_chars().max()\n'
    )
    config = as_config("rrf", [str(tmp_path / "mine.py")])
    assert "longest" in describe_config(config).nodes
