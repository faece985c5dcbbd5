"""From the list to what is read, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.errors import SearchError

Drivers = Callable[..., Any]
NOW = datetime(2025, 6, 1, tzinfo=UTC)


def test_the_cut_comes_after_the_copies_are_gone(run: Any, driver_of: Drivers, world: Any) -> None:
    for top_k, left in ((0, 0), (1, 1), (4, 4), (10**6, 5)):
        out = run(driver_of(), ["results"], world, 0, top_k=top_k)
        assert out["results"].height == left


def test_a_context_is_filled_from_more_than_the_results_that_are_shown(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    for top_k, depth in ((1, 30), (4, 2), (0, 1)):
        wanted = ["results", "packed", "unique"]
        how = {"top_k": top_k, "context_depth": depth, "context_floor": 0.0}
        out = run(driver_of(), wanted, world, 0, **how)
        assert out["results"].height == top_k
        assert out["packed"].height == min(depth, out["unique"].height)


def test_a_context_leaves_out_what_is_too_weak_beside_the_best(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    wanted = ["unique", "context_order", "packed", "results"]
    out = run(driver_of(), wanted, world, 0, context_floor=0.5)
    scores = out["unique"]["score"]
    strong = int((scores >= scores.max() / 2).sum())
    assert 0 < strong < out["unique"].height == out["results"].height
    assert out["packed"].height == out["context_order"].height == strong


def test_a_context_of_a_query_with_weak_evidence_has_less(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    wanted = ["context_order", "weak_evidence"]
    floors = {"context_floor": 0.0, "weak_context_floor": 1.0}
    for noted, below in ((0, 0.0), (1, 100.0)):
        out = run(driver_of(), wanted, world, 0, weak_below=below, **floors)
        assert out["weak_evidence"].height == noted
        assert out["context_order"].height == (1 if noted else 5)


def test_a_context_of_a_query_that_says_what_a_text_must_have_keeps_all_that_have_it(
    driver_of: Drivers, world: Any
) -> None:
    queries = pl.DataFrame([{"query_id": 0, "text": "q", "pattern": "release"}])
    given = {**world.overrides(0), "queries": queries}
    how = {"now": NOW, "context_floor": 1.0, "weak_context_floor": 1.0, "weak_below": 9.0}
    out = driver_of().execute(["context_order", "weak_evidence"], how, overrides=given)
    assert out["context_order"].height == 5
    assert out["weak_evidence"].is_empty()


def test_no_hit_anywhere_is_an_answer_and_no_search_anywhere_an_error(
    run: Any, driver_of: Drivers, make_world: Any
) -> None:
    nothing = make_world(texts={"code": {}, "review": {}, "wiki": {}}, found={0: {}})
    out = run(driver_of(), ["results", "notes", "context_window"], nothing, 0)
    assert out["results"].is_empty()
    assert out["notes"].is_empty()
    assert out["context_window"]["text"].to_list() == [""]
    nothing.failing = {
        (corpus, channel): OSError("no server")
        for corpus in ("code", "review", "wiki")
        for channel in ("vector", "text")
    }
    with pytest.raises(SearchError, match="every search failed"):
        run(driver_of(), ["results"], nothing, 0)


def test_a_question_cut_short_is_noted_in_the_context_too(driver_of: Drivers, world: Any) -> None:
    inputs = {"query": ["x" * 30, "short", "y" * 21], "now": NOW, "max_query_characters": 20}
    wanted = ["notes", "context_window", "queries"]
    out = driver_of().execute(wanted, inputs, overrides=world.overrides(0))
    said = "2 of the 3 texts were cut, the longest to its first 20 of 30 characters"
    assert out["notes"]["note"].to_list() == [said]
    assert said in out["context_window"]["text"].item()
    assert out["queries"]["texts"].item().to_list() == ["x" * 20, "short", "y" * 20]
    whole = driver_of().execute(wanted, {**inputs, "query": "z" * 20}, world.overrides(0))
    assert whole["notes"].is_empty()


def test_provenance_tells_how_the_answer_came_about(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    timings: dict[str, float] = {}
    out = run(driver_of(), ["provenance", "results"], world, 0, timings=timings)
    told = out["provenance"]
    assert told["searched"]["code"] == {"vector": "ok", "text": "ok"}
    assert told["counts"]["corpora"]["code"] == {
        "vector": 2,
        "text": 2,
        "merged": 3,
        "deduped": 3,
    }
    assert told["counts"]["results"] == out["results"].height
    assert told["parameters"]["top_k"] == 10
    assert told["variants"]["unique"] == "guarded"
    assert told["variants"]["text_search"] == "bm25"
    assert told["model"] == "none"
    assert told["degraded"] == []
    assert told["timings"]["fused"] > 0


def test_an_answer_says_that_keyword_search_leaves_out_all_words_of_a_query(
    driver_of: Drivers, world: Any
) -> None:
    for text, noted in (("The Who", True), ("The release", False)):
        queries = pl.DataFrame([{"query_id": 0, "text": text}])
        given = {**world.overrides(0), "queries": queries}
        out = driver_of().execute(["notes"], {"now": NOW}, overrides=given)
        assert any("stop words" in note for note in out["notes"]["note"]) == noted
