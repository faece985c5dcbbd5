"""The graphs that configurations build, drawn and compared."""

from __future__ import annotations

from pathlib import Path

from dataflow import load_config
from dataflow.configuration.config_model import as_config
from dataflow.driver.config_graphs import describe_config, diff_configs

DEFAULT, RRF = load_config("default"), load_config("rrf")


def test_the_difference_names_the_variants() -> None:
    found = diff_configs(DEFAULT, RRF)
    assert "fused" in {change.where for change in found.implementations}


def test_a_setting_that_no_node_shows_is_told() -> None:
    found = diff_configs(DEFAULT, DEFAULT.with_changes({"workers": 3}))
    assert [change.where for change in found.settings] == ["workers"]


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
