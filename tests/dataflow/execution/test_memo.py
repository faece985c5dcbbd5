"""Which values are the same for every node that may read them."""

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import pytest

from dataflow.execution.memo import same
from operators.dedup.token_index import index_tokens


@dataclass
class Found:
    value: int
    cache: dict[str, int] = field(compare=False)


TOKENS = index_tokens(pl.DataFrame({"chunk_id": [1], "text": ["a b"]}))
SAME = [
    (pl.DataFrame({"a": [1.0, None]}), pl.DataFrame({"a": [1.0, None]})),
    (pl.DataFrame({"a": [float("nan")]}), pl.DataFrame({"a": [float("nan")]})),
    (pl.Series("a", [[1], []]), pl.Series("a", [[1], []])),
    ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
    (("x", 1.5), ("x", 1.5)),
    (np.arange(3), np.arange(3)),
    (TOKENS, replace(TOKENS)),
    (Found(1, {}), Found(1, {"made": 2})),
]
OTHER = [
    (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}, schema={"a": pl.Int32})),
    (pl.DataFrame({"a": [1], "b": [2]}), pl.DataFrame({"b": [2], "a": [1]})),
    (pl.Series("a", [1]), pl.Series("b", [1])),
    (1, 1.0),
    (1, True),
    ([1, 2], [1]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.arange(3), np.arange(3.0)),
    (TOKENS, replace(TOKENS, chunk_id=np.array([2]))),
    (object(), object()),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_equal_content_of_one_type_is_the_same(one, two):
    assert same(one, two)


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_another_type_order_name_or_object_is_not(one, two):
    assert not same(one, two)
