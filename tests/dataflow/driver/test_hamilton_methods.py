"""What a person who knows Hamilton's driver asks of ours."""

from __future__ import annotations

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


def test_a_call_is_checked_without_running_it(driver: Any) -> None:
    driver.validate_execution(["results"], inputs={"query": "a"})
    with pytest.raises(CrosscorpusError, match="missing input 'query'"):
        driver.validate_execution(["results"])
    with pytest.raises(UnknownName, match="did you mean 'results'"):
        driver.validate_execution(["result"], inputs={"query": "a"})
