"""Values: whether one is of the annotated type, and what is said of a number out of bounds."""

import typing

import polars as pl
import pytest

from dataflow.configuration.catalog import Layer, retrieval_catalog
from dataflow.configuration.value_checks import BOUNDS, fits, out_of_bounds


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


LAYER = retrieval_catalog().top


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        (1.5, int, False),
        (None, float | None, True),
        ("a", float | None, False),
        ("a", typing.Literal["a", "b"], True),
        ("c", typing.Literal["a", "b"], False),
        (["a"], list[str], True),
        (["a", 1], list[str], False),
        ({"a": 1}, dict[str, float], True),
        ({"a": "b"}, dict[str, float], False),
        ({"a": 1.0}, str | typing.Mapping[str, float] | None, True),
        ("1", int, False),
        (float("nan"), int, False),
        (10**400, float, False),
        (pl.DataFrame(), pl.DataFrame, True),
        (pl.DataFrame(), typing.Literal["a"], False),
        ([], pl.DataFrame, False),
        (LAYER, Layer, True),
        ({}, Layer, False),
        (object(), typing.Any, True),
    ],
)
def test_a_value_fits_an_annotation_or_not(value, annotation, expected):
    assert fits(value, annotation) is expected
