"""What a person who knows Hamilton's driver asks of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from operators.errors import CrosscorpusError, UnknownName


@pytest.fixture(scope="module")
def driver(whole_driver: Any) -> Any:
    return whole_driver


def names(nodes: Any) -> set[str]:
    return {node.name for node in nodes}


def test_every_variable_is_listed_and_tags_choose_among_them(driver: Any) -> None:
    assert {"results", "wiki.text_search", "query"} <= names(driver.list_available_variables())
    chosen = names(driver.list_available_variables(tag_filter={"stage": "order"}))
    assert {"unique", "results"} <= chosen
    assert "fused" not in chosen


def test_what_comes_before_and_after_a_node_is_what_hamilton_says(driver: Any) -> None:
    before, after = driver.what_is_upstream_of("fused"), driver.what_is_downstream_of("fused")
    assert {"wiki.text_search", "queries", "fused"} <= names(before)
    assert {"results", "citations", "fused"} <= names(after)
    assert names(before) == names(driver.hamilton.what_is_upstream_of("fused"))
    ends = {"upstream_node_name": "fused", "downstream_node_name": "results"}
    between = names(driver.what_is_the_path_between("fused", "results"))
    assert names(driver.what_is_the_path_between(**ends)) == between
    assert between == {
        "fused",
        "weighted",
        "signals",
        "ranked",
        "reranked",
        "unique",
        "results",
    }


@pytest.mark.parametrize(
    "ask", ["what_is_upstream_of", "what_is_downstream_of", "display_upstream_of"]
)
def test_a_mistyped_node_gets_the_nearest_name(driver: Any, ask: str) -> None:
    with pytest.raises(UnknownName, match="did you mean 'fused'"):
        getattr(driver, ask)("fusd")


def test_a_call_is_checked_without_running_it(driver: Any) -> None:
    driver.validate_execution(["results"], inputs={"query": "a"})
    with pytest.raises(CrosscorpusError, match="missing input 'query'"):
        driver.validate_execution(["results"])
    with pytest.raises(UnknownName, match="did you mean 'results'"):
        driver.validate_execution(["result"], inputs={"query": "a"})


def test_a_call_is_exported_as_json(driver: Any) -> None:
    told = json.loads(driver.export_execution(["results"], inputs={"query": "a"}))
    assert "fused" in {node["name"] for node in told["nodes"]}


def test_the_whole_graph_and_parts_of_it_are_drawn(driver: Any, tmp_path: Path) -> None:
    whole = str(driver.display_all_functions().source)
    assert '"fused"' in whole
    assert '"results"' in whole
    above = str(driver.display_upstream_of("fused").source)
    assert '"results"' not in above
    below = str(driver.display_downstream_of("fused").source)
    assert '"results"' in below
    between = str(driver.visualize_path_between("fused", "results").source)
    assert '"weighted"' in between
    file = tmp_path / "call.dot"
    driver.visualize_execution(["results"], str(file), inputs={"query": "a"})
    assert '"unique"' in file.read_text()
    assert '"context_window"' not in file.read_text()
