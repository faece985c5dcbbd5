"""Values: whether one is of the annotated type, and what is said of a number out of bounds."""

from dataflow.configuration.catalog import retrieval_catalog
from dataflow.configuration.value_checks import BOUNDS, out_of_bounds


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
