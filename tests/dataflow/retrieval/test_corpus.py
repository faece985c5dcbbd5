"""One corpus of the graph, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from operators.errors import CrosscorpusError, SearchError
from operators.frames import QUERY_EMBEDDINGS, TEXT_LISTS, empty
from operators.postgres.search.timed_search import Searched

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


@pytest.mark.parametrize(
    ("depth", "fraction", "found"), [(50, 0.0, 4), (2, 1.0, 5), (4, 0.5, 4.25)]
)
def test_what_one_text_of_a_question_lacks_counts_as_the_run_says(
    driver_of: Drivers, world: Any, depth: int, fraction: float, found: float
) -> None:
    first, second = [(0, 0, 1, 0, 8.0), (0, 0, 2, 1, 2.0)], [(0, 1, 2, 0, 4.0), (0, 1, 3, 1, 1.0)]
    words = pl.DataFrame([*first, *second], TEXT_LISTS, orient="row")
    near = words.select(*words.columns[:4], distance=1 - pl.col("score") / 8)
    how = {"search_depth": depth, "missing_score_fraction": fraction}
    lists = {**world.overrides(0), "wiki.text_search": words, "wiki.vector_search": near}
    out = driver_of().execute(["text_hits", "vector_hits"], how, lists)
    one = {"corpus": "wiki", "chunk_id": 1}
    assert out["text_hits"].filter(**one)["score"].item() == found
    assert out["vector_hits"].filter(**one)["distance"].item() == 1 - found / 8


@pytest.mark.parametrize(
    ("given", "unique"),
    [
        ("unified", "jaccard"),
        ("unified", "cosine"),
        ("merged", "guarded"),
        ("vector_hits", "guarded"),
    ],
)
def test_corpora_whose_results_are_given_are_not_searched(
    driver_of: Drivers, world: Any, make_queries: Any, given: str, unique: str
) -> None:
    driver = driver_of({"unique": unique})
    overrides = {**world.overrides(0), "queries": make_queries(0)}
    answer = driver.execute([given, "results"], {"now": NOW}, overrides=overrides)
    for corpus in world.texts:
        del overrides[f"{corpus}.vector_search"]  # without a store they could only fail
        if given != "vector_hits":
            del overrides[f"{corpus}.text_search"]
    overrides[given] = answer[given]
    wanted = ["results", "outcomes", "notes", "provenance"]
    out = driver.execute(wanted, {"now": NOW}, overrides=overrides)
    assert out["results"].equals(answer["results"])
    searched = out["provenance"]["searched"]
    assert {of["vector"] for of in searched.values()} == {"overridden"}
    text = {corpus: of["text"] for corpus, of in searched.items()}
    if given == "vector_hits":
        assert text == {"code": "ok", "review": "ok", "wiki": "empty"}
    else:
        assert set(text.values()) == {"overridden"}
    assert out["notes"].is_empty()


def test_given_results_are_an_answer_when_every_search_failed(
    run: Any, driver_of: Drivers, world: Any
) -> None:
    unified = run(driver_of(), ["unified"], world, 0)["unified"].filter(corpus="wiki")
    ask = {"query": "q", "now": NOW}
    given = {"query_embeddings": empty(QUERY_EMBEDDINGS)}
    given["read_chunks"] = world.overrides(0)["read_chunks"]
    with pytest.raises(SearchError, match="every search failed"):  # there is no store
        driver_of().execute(["results"], ask, overrides=given)
    out = driver_of().execute(["results"], ask, overrides={**given, "unified": unified})
    assert out["results"]["corpus"].unique().to_list() == ["wiki"]


def test_the_lists_of_a_search_may_be_given_as_a_frame(driver_of: Drivers, world: Any) -> None:
    overrides = world.overrides(0)
    ask, wanted = {"query": "q", "now": NOW}, ["results", "outcomes", "fused"]
    usual = driver_of().execute(wanted, ask, overrides)
    plain = {
        name: given.lists if isinstance(given, Searched) else given
        for name, given in overrides.items()
    }
    out = driver_of().execute(wanted, ask, plain)
    assert out["fused"].equals(usual["fused"])
    assert set(out["outcomes"]["status"]) == {"overridden"}
    for name in ("wiki.vector_search", "wiki.text_search"):
        with pytest.raises(CrosscorpusError, match=f"override '{name}' lacks columns: query_id"):
            driver_of().execute(wanted, ask, {**plain, name: pl.DataFrame({"a": [1]})})
        with pytest.raises(CrosscorpusError, match=f"override '{name}': expected Searched"):
            driver_of().execute(wanted, ask, {**plain, name: {"lists": usual["fused"]}})
