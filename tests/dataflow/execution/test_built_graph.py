"""Guards at build: a node that needs what nothing computes."""

import pytest
from hamilton import ad_hoc_utils, driver

from dataflow.execution.built_graph import GraphError, check_declared


def test_an_undeclared_input_is_an_error_with_the_nearest_node():
    def merged(seed: int) -> int:
        return seed

    def deduped(mergd: int) -> int:
        return mergd

    module = ad_hoc_utils.create_temporary_module(merged, deduped, module_name="undeclared")
    graph = driver.Builder().with_modules(module).build().graph
    message = "deduped needs 'mergd', which no node computes, did you mean 'merged'"
    with pytest.raises(GraphError, match=message):
        check_declared(graph, {"seed"})
    check_declared(graph, {"seed", "mergd"})
