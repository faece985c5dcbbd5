"""What a person who knows Hamilton's driver asks of ours."""

from __future__ import annotations

from typing import Any


def names(nodes: Any) -> set[str]:
    return {node.name for node in nodes}


def test_every_variable_is_listed_and_tags_choose_among_them(driver: Any) -> None:
    assert {"results", "wiki.text_search", "query"} <= names(driver.list_available_variables())
    chosen = names(driver.list_available_variables(tag_filter={"stage": "order"}))
    assert {"unique", "results"} <= chosen
    assert "fused" not in chosen
