import math

import pytest

from dataflow.configuration.bounds import BOUNDS, out_of_bounds
from dataflow.configuration.catalog import retrieval_catalog


def numbers():
    catalog = retrieval_catalog()
    found = {**catalog.top.parameters, **catalog.corpus.parameters}
    return {
        name: parameter.default
        for name, parameter in found.items()
        if parameter.annotation in (int, float, int | None)
    }


def test_every_number_of_the_shipped_graph_has_bounds_and_its_default_keeps_them():
    assert set(BOUNDS) == set(numbers())
    assert [name for name, value in numbers().items() if out_of_bounds(name, value)] == []


@pytest.mark.parametrize("name", [*sorted(BOUNDS), "of_a_new_stage"])
def test_no_number_may_be_infinite_or_none_at_all(name):
    for value in (math.nan, math.inf, -math.inf):
        assert out_of_bounds(name, value) == f"expected a finite number, got {value}"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("top_k", [0, 1], [-1]),
        ("search_depth", [0, 1], [-1]),
        ("vector_weight", [0, 0.5, 1], [-0.1, 1.1]),
        ("cosine_threshold", [0.01, 1], [0, 1.01]),
        ("recency_days", [0.5], [0, -1]),
        ("max_query_characters", [1], [0]),
        ("of_a_new_stage", [-5, 0, 1e9], []),
        ("vector_norm", ["max"], []),
    ],
)
def test_a_number_outside_its_bounds_is_told_what_was_expected(name, good, bad):
    assert [out_of_bounds(name, value) for value in good] == [None] * len(good)
    assert all("expected" in str(out_of_bounds(name, value)) for value in bad)
