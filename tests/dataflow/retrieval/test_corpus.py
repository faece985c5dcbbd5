"""One corpus of the graph, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.errors import CrosscorpusError
from operators.frames import TEXT_LISTS

Drivers = Callable[..., Any]


NOW = datetime(2025, 6, 1, tzinfo=UTC)


def test_a_frame_without_the_columns_of_its_stage_is_refused_by_the_stage_s_name(
    driver_of: Drivers, frames_of_stages: dict[str, Any]
) -> None:
    bad = pl.DataFrame({"a": [1]})
    for name, schema in frames_of_stages.items():
        with pytest.raises(CrosscorpusError) as error:
            driver_of().execute(["results"], {"query": "q"}, {name: bad})
        assert f"override {name!r} lacks columns: {', '.join(schema)};" in str(error.value)


def test_per_corpus_answers_stay_available(run: Any, driver_of: Drivers, world: Any) -> None:
    out = run(driver_of(), ["wiki.unified", "wiki", "review.vector_hits"], world, 0)
    assert out["wiki"].equals(out["wiki.unified"])
    assert out["wiki"]["corpus"].unique().to_list() == ["wiki"]
    assert out["review.vector_hits"]["chunk_id"].to_list() == [11]


@pytest.mark.parametrize(
    ("depth", "fraction", "found"), [(50, 0.0, 4), (2, 1.0, 5), (4, 0.5, 4.25)]
)
def test_what_one_text_of_a_question_lacks_counts_as_the_run_says(
    driver_of: Drivers, depth: int, fraction: float, found: float
) -> None:
    first, second = [(0, 0, 1, 0, 8.0), (0, 0, 2, 1, 2.0)], [(0, 1, 2, 0, 4.0), (0, 1, 3, 1, 1.0)]
    words = pl.DataFrame([*first, *second], TEXT_LISTS, orient="row")
    near = words.select(*words.columns[:4], distance=1 - pl.col("score") / 8)
    how = {"wiki.search_depth": depth, "wiki.missing_score_fraction": fraction}
    lists = {"wiki.text_lists": words, "wiki.vector_lists": near}
    out = driver_of().execute(["wiki.text_hits", "wiki.vector_hits"], how, lists)
    assert out["wiki.text_hits"].filter(chunk_id=1)["score"].item() == found
    assert out["wiki.vector_hits"].filter(chunk_id=1)["distance"].item() == 1 - found / 8


def test_one_channel_alone_leaves_the_other_search_out(driver_of: Drivers, world: Any) -> None:
    overrides = world.overrides(0)
    for corpus in ("code", "review", "wiki"):
        del overrides[f"{corpus}.text_search"]  # without a store it could only fail
    driver = driver_of(merged="vector_only")
    out = driver.execute(["results", "outcomes"], {"query": "q", "now": NOW}, overrides=overrides)
    assert set(out["outcomes"]["channel"]) == {"vector"}
    assert out["results"].height


@pytest.mark.parametrize(
    "given", ["unified", "merged", "vector_hits"], ids=lambda node: f"wiki.{node}"
)
@pytest.mark.parametrize("unique", ["jaccard", "cosine", "guarded"])
def test_a_corpus_whose_results_are_given_is_not_searched(
    driver_of: Drivers, world: Any, make_queries: Any, given: str, unique: str
) -> None:
    driver = driver_of({"unique": unique})
    overrides = {**world.overrides(0), "queries": make_queries(0)}
    answer = driver.execute([f"wiki.{given}", "results"], {"now": NOW}, overrides=overrides)
    del overrides["wiki.vector_search"]  # without a store they could only fail
    if given != "vector_hits":
        del overrides["wiki.text_search"]
    if given == "unified" and unique == "jaccard":
        del overrides["wiki.read_chunks"]
    overrides[f"wiki.{given}"] = answer[f"wiki.{given}"]
    wanted = ["results", "outcomes", "notes", "provenance"]
    out = driver.execute(wanted, {"now": NOW}, overrides=overrides)
    assert out["results"].equals(answer["results"])
    searched = out["provenance"]["searched"]["wiki"]
    assert searched["vector"] == "overridden"
    assert searched["text"] == ("empty" if given == "vector_hits" else "overridden")
    assert out["notes"].is_empty()


def test_given_results_are_an_answer_when_every_search_failed(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    unified = run(driver_of(), ["wiki.unified"], world, 0)["wiki.unified"]
    world.failing = {(c, ch): OSError("x") for c in ("code", "review") for ch in ("vector", "text")}
    overrides = {**world.overrides(0), "wiki.unified": unified}
    out = driver_of().execute(["results"], {"query": "q", "now": NOW}, overrides=overrides)
    assert out["results"]["corpus"].unique().to_list() == ["wiki"]
