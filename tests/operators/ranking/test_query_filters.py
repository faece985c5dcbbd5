from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from operators.ranking.query_filters import narrowed

Make = Callable[..., pl.DataFrame]


def test_a_query_that_names_other_corpora_is_left_out(make_queries: Make) -> None:
    queries = make_queries({"corpora": ["wiki"]}, {"query_id": 1, "corpora": ["code"]})
    assert narrowed(queries, "code", {})["query_id"].to_list() == [1]


@pytest.mark.parametrize(
    ("asked", "allowed", "both"),
    [
        ({}, {"repos": ["a"]}, {"repos": ["a"]}),
        ({"repos": ["a", "b"]}, {"repos": ["b", "c"]}, {"repos": ["b"]}),
        ({"path_prefix": "src/x"}, {"path_prefix": "src/"}, {"path_prefix": "src/x"}),
        ({"path_prefix": "s"}, {"path_prefix": "src/"}, {"path_prefix": "src/"}),
    ],
)
def test_both_filters_hold(
    make_queries: Make, asked: dict[str, Any], allowed: dict[str, Any], both: dict[str, Any]
) -> None:
    (row,) = narrowed(make_queries(asked), "code", allowed).to_dicts()
    assert {name: row[name] for name in both} == both


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ({"repos": ["a"]}, {"repos": ["b"]}),
        ({"path_prefix": "docs/"}, {"path_prefix": "src/"}),
        ({"language": "go"}, {"language": "rust"}),
    ],
)
def test_a_contradiction_finds_nothing(
    make_queries: Make, asked: dict[str, Any], allowed: dict[str, Any]
) -> None:
    assert narrowed(make_queries(asked), "code", allowed).is_empty()
