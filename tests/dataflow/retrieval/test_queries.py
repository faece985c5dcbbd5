"""What a caller asks, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dataflow.driver.query_frame import BatchError
from operators.errors import CrosscorpusError, UnknownName

Drivers = Callable[..., Any]


def test_a_question_in_words_reaches_the_graph(driver_of: Drivers, world: Any) -> None:
    driver = driver_of()
    inputs = {"query": ["question 0", "src/cache.py"], "trigger": {"issue": 0.5, "slack": 0.5}}
    out = driver.execute(["queries", "results"], inputs, overrides=world.overrides(0))
    assert out["queries"]["texts"].to_list() == [["question 0", "src/cache.py"]]
    assert out["results"].height == 5
    with pytest.raises(CrosscorpusError, match="the query is empty"):
        driver.execute(["queries"], {"query": " "})
    with pytest.raises(UnknownName, match="did you mean 'issue'"):
        driver.execute(["queries"], {"query": "q", "trigger": "isue"})


@pytest.mark.parametrize(
    ("node", "by", "filters"),
    [
        ("queries", "inputs", {"repos": ["pub"], "only_corpora": ["wiki"]}),
        ("queries", "overrides", {"repos": []}),
        ("scoped_queries", "inputs", {"repos": []}),
    ],
)
def test_a_filter_beside_the_node_that_would_have_to_keep_it_is_refused(
    driver_of: Drivers, world: Any, by: str, node: str, filters: dict[str, Any]
) -> None:
    driver = driver_of()
    frame = driver.execute([node], {"query": "q"}, overrides=world.overrides(0))[node]
    asked = {} if node == "queries" else {"query": "q"}
    call: dict[str, Any] = {"inputs": asked, "overrides": {**world.overrides(0), node: frame}}
    assert driver.execute(["results"], **call)["results"].height
    call[by] = {**call[by], **filters}
    names = ", ".join(sorted(filters))
    with pytest.raises(
        BatchError, match=f"^{names}: an input of one question, and the node {node} is overridden"
    ):
        driver.execute(["results"], **call)


def test_a_filter_given_twice_is_refused(driver_of: Drivers, world: Any) -> None:
    call: dict[str, Any] = {"inputs": {"query": "q", "repos": ["pub"]}}
    with pytest.raises(CrosscorpusError, match="repos is given as an input and as an override"):
        driver_of().execute(["results"], **call, overrides={**world.overrides(0), "repos": None})
