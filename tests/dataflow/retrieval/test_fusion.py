"""The lists of all corpora as one, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from operators.errors import CrosscorpusError

Drivers = Callable[..., Any]
NOW = datetime(2025, 6, 1, tzinfo=UTC)


def test_copies_across_corpora_become_alternates_of_the_best(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    out = run(driver_of(), ["results", "citations", "context_window"], world, 0)
    results = out["results"]
    (row,) = [r for r in results.to_dicts() if r["alternate_sources"]]
    assert row["rank"] == 0
    found = {row["chunk_id"], *(one["chunk_id"] for one in row["alternate_sources"])}
    assert found == {3, 11, 22}
    assert results.height == 5
    assert "also found in" in out["citations"]["citation"].to_list()[0]
    assert (
        out["context_window"]["text"].item().count("flushed")
        + out["context_window"]["text"].item().count("FLUSHED")
        == 1
    )


def test_a_trigger_raises_its_sources(driver_of: Drivers, world: Any, make_queries: Any) -> None:
    driver = driver_of()
    scores = {}
    for trigger in (None, "pr_review", "question"):
        columns = {} if trigger is None else {"trigger": trigger}
        overrides = {**world.overrides(1), "queries": make_queries(1, **columns)}
        weighted = driver.execute(["weighted"], {"now": NOW}, overrides=overrides)["weighted"]
        scores[trigger] = dict(weighted.select("chunk_id", "score").iter_rows())
    assert scores["pr_review"][2] == scores[None][2] * 1.1
    assert scores["pr_review"][21] == scores[None][21]
    assert scores["question"][21] == scores[None][21] * 1.1


def test_a_corpus_with_one_failed_search_counts_by_the_other_alone(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    world.failing = {("wiki", "text"): OSError("gone")}
    out = run(driver_of(), ["merged", "normalized"], world, 0)
    values = out["normalized"]["chunk_id", "vector_value"]
    hits = out["merged"].filter(corpus="wiki").join(values, on="chunk_id")
    assert hits.height > 1
    assert hits["score"].to_list() == hits["vector_value"].to_list()


def test_a_reranker_by_configuration_has_the_last_word(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    driver = driver_of({"reranked": "cross_encoder"})

    def shortest(pairs: list[tuple[str, str]]) -> list[float]:
        return [-float(len(passage)) for _, passage in pairs]

    results = run(driver, ["results"], world, 0, reranker=shortest)["results"]
    assert results["text"].str.len_chars().is_sorted()
    with pytest.raises(
        CrosscorpusError, match=r"reranked needs: .* inputs=\{'reranker': \.\.\.\}$"
    ):
        run(driver, ["results"], world, 0)
