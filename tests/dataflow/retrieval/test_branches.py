"""All branches together, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hamilton.node import Node
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.configuration.config_model import load_config
from dataflow.driver.retrieval_driver import build_graph
from operators import frames

Drivers = Callable[..., Any]
NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize("queries", [(0, 1), (1,), ()])
def test_every_stage_has_its_frame(
    frames_of_stages: dict[str, Any],
    driver_of: Drivers,
    world: Any,
    make_queries: Any,
    queries: tuple[int, ...],
) -> None:
    overrides = world.overrides(*queries)
    overrides["queries"] = make_queries(0, 1).head(len(queries))
    if queries:
        overrides["queries"] = make_queries(*queries)
    out = driver_of().execute(list(frames_of_stages), {"now": NOW}, overrides=overrides)
    for name, schema in frames_of_stages.items():
        frames.check(out[name], schema, name)


@pytest.mark.parametrize(
    "variants",
    [
        {},
        {"fused": "rrf", "aged_hits": "off", "merged": "rrf"},
        {"fused": "comb_sum", "aged_hits": "off", "weighted": "off", "merged": "weighted_rrf"},
        {"unique": "jaccard", "deduped": "jaccard"},
        {"unique": "cosine", "packed": "tokens", "deduped": "cosine", "merged": "text_only"},
        {"unique": "newest", "deduped": "newest", "normalized": "by_list"},
        {"unique": "off", "deduped": "off", "merged": "vector_only"},
    ],
)
@given(data=st.data())
@settings(max_examples=6)
def test_a_batch_gives_what_its_queries_give_alone_bit_for_bit(
    driver_of: Drivers,
    make_world: Any,
    make_queries: Any,
    variants: dict[str, str],
    worlds: Any,
    data: st.DataObject,
) -> None:
    driver, world = driver_of(variants), make_world(**data.draw(worlds))
    ids = sorted(world.found)
    wanted = ["merged", "deduped", "unified", "fused", "weighted", "unique", "results"]
    wanted += ["packed", "context_window", "citations"]
    triggers = {q: ["pr_review", "question", "none"][q % 3] for q in ids}

    def answer(*queries: int) -> dict[str, pl.DataFrame]:
        asked = pl.concat([make_queries(q, trigger=triggers[q]) for q in queries])
        overrides = {**world.overrides(*queries), "queries": asked}
        clock = {} if variants.get("aged_hits") == "off" else {"now": NOW}
        out: dict[str, pl.DataFrame] = driver.execute(wanted, clock, overrides=overrides)
        return out

    together = answer(*ids)
    for query in ids:
        alone = answer(query)
        for name in wanted:
            mine = together[name].filter(query_id=query)
            assert mine.equals(alone[name]), name


def test_a_hundred_corpora_are_built_without_comparing_each_node_with_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0
    equal = Node.__eq__

    def counted(self: Node, other: Node) -> bool:
        nonlocal compared
        compared += 1
        return bool(equal(self, other))

    monkeypatch.setattr(Node, "__eq__", counted)
    config = load_config()
    many = config.with_changes({"corpora": {f"own{n}": {} for n in range(100)}})
    nodes = build_graph(many).graph.nodes
    assert {f"own{n}.text_search" for n in range(100)} <= nodes.keys()
    assert compared < 20 * len(nodes)
