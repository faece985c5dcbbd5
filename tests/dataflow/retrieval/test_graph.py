"""The retrieval graph as a whole, over made-up searches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataflow.driver.query_frame import BatchError
from operators import frames
from operators.errors import CrosscorpusError, SearchError, UnknownName

Drivers = Callable[..., Any]
NOW = datetime(2025, 6, 1, tzinfo=UTC)
STAGES = {
    "code.merged": frames.MERGED,
    "code.deduped": frames.DEDUPED,
    "wiki.unified": frames.UNIFIED,
    "fused": frames.FUSED,
    "weighted": frames.FUSED,
    "reranked": frames.FUSED,
    "unique": frames.FUSED,
    "results": frames.FUSED,
    "packed": frames.PACKED,
    "context_window": frames.CONTEXT,
    "citations": frames.CITATIONS,
    "notes": frames.NOTES,
    "outcomes": frames.OUTCOMES,
}


def run(driver: Any, wanted: list[str], world: Any, *queries: int, **inputs: Any) -> dict[str, Any]:
    rows = [{"query_id": q, "text": f"question {q}"} for q in queries]
    given_ = {**world.overrides(*queries), "queries": pl.DataFrame(rows)}
    out: dict[str, Any] = driver.execute(wanted, {"now": NOW, **inputs}, overrides=given_)
    return out


@pytest.mark.parametrize("queries", [(0, 1), (1,), ()])
def test_every_stage_has_its_frame(
    driver_of: Drivers, world: Any, make_queries: Any, queries: tuple[int, ...]
) -> None:
    overrides = world.overrides(*queries)
    overrides["queries"] = make_queries(0, 1).head(len(queries))
    if queries:
        overrides["queries"] = make_queries(*queries)
    out = driver_of().execute(list(STAGES), {"now": NOW}, overrides=overrides)
    for name, schema in STAGES.items():
        frames.check(out[name], schema, name)


def test_a_frame_without_the_columns_of_its_stage_is_refused_by_the_stage_s_name(
    driver_of: Drivers,
) -> None:
    bad = pl.DataFrame({"a": [1]})
    for name, schema in STAGES.items():
        with pytest.raises(CrosscorpusError) as error:
            driver_of().execute(["results"], {"query": "q"}, {name: bad})
        assert f"override {name!r} lacks columns: {', '.join(schema)};" in str(error.value)


def test_copies_across_corpora_become_alternates_of_the_best(
    driver_of: Drivers, world: Any
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


def test_the_cut_comes_after_the_copies_are_gone(driver_of: Drivers, world: Any) -> None:
    for top_k, left in ((0, 0), (1, 1), (4, 4), (10**6, 5)):
        out = run(driver_of(), ["results"], world, 0, top_k=top_k)
        assert out["results"].height == left


def test_a_trigger_raises_its_sources(driver_of: Drivers, world: Any, make_queries: Any) -> None:
    driver = driver_of()
    scores = {}
    for trigger in (None, "pr_review", "question"):
        columns = {} if trigger is None else {"trigger": trigger}
        overrides = {**world.overrides(1), "queries": make_queries(1, **columns)}
        weighted = driver.execute(["weighted"], {"now": NOW}, overrides=overrides)["weighted"]
        scores[trigger] = dict(weighted.select("chunk_id", "score").iter_rows())
    assert scores["pr_review"][2] == scores[None][2] * 1.2
    assert scores["pr_review"][21] == scores[None][21]
    assert scores["question"][21] == scores[None][21] * 1.2


def test_recent_chunks_are_raised(driver_of: Drivers, world: Any) -> None:
    driver = driver_of({"fused": "rrf"})
    fused = run(driver, ["fused"], world, 0)["fused"]
    scores = dict(fused.select("chunk_id", "score").iter_rows())
    ranks = dict(run(driver, ["code"], world, 0)["code"].select("chunk_id", "rank").iter_rows())
    assert scores[1] == 1 / (60 + ranks[1]) * 1.15
    assert scores[3] == 1 / (60 + ranks[3])


def test_per_corpus_answers_stay_available(driver_of: Drivers, world: Any) -> None:
    out = run(driver_of(), ["wiki.unified", "wiki", "review.vector_hits"], world, 0)
    assert out["wiki"].equals(out["wiki.unified"])
    assert out["wiki"]["corpus"].unique().to_list() == ["wiki"]
    assert out["review.vector_hits"]["chunk_id"].to_list() == [11]


def test_a_failed_search_is_noted_and_the_others_answer(driver_of: Drivers, world: Any) -> None:
    world.failing = {("wiki", "vector"): TimeoutError("slow"), ("wiki", "text"): OSError("gone")}
    out = run(driver_of(), ["results", "notes", "context_window", "provenance"], world, 0)
    assert "wiki" not in out["results"]["corpus"].to_list()
    assert len(out["notes"]) == 2
    assert all(note in out["context_window"]["text"].item() for note in out["notes"]["note"])
    assert out["provenance"]["degraded"] == out["notes"]["note"].to_list()
    assert out["provenance"]["searched"]["wiki"] == {"vector": "timed_out", "text": "failed"}


def test_a_corpus_with_one_failed_search_counts_by_the_other_alone(
    driver_of: Drivers, world: Any
) -> None:
    world.failing = {("wiki", "text"): OSError("gone")}
    parts = run(driver_of(), ["fusion_components"], world, 0)["fusion_components"]
    weights = {corpus: set(own["vector_weight"]) for (corpus,), own in parts.group_by("corpus")}
    assert weights == {"code": {0.5}, "review": {0.5}, "wiki": {1.0}}


def test_a_weight_for_one_run_counts_as_that_of_the_configuration_and_is_told(
    driver_of: Drivers, world: Any
) -> None:
    wanted = ["fused", "fusion_components", "provenance"]
    base = run(driver_of(), wanted, world, 0)
    out = run(driver_of(), wanted, world, 0, **{"code.vector_weight": 1.0})
    told = out["provenance"]["parameters"]["corpora"]
    assert (told["code"]["vector_weight"], told["wiki"]["vector_weight"]) == (1.0, 0.5)
    own = out["fusion_components"].filter(corpus="code")
    assert set(own["vector_weight"]) == {1.0}
    assert not out["fused"].equals(base["fused"])
    assert not own["part"].null_count()


def test_no_hit_anywhere_is_an_answer_and_no_search_anywhere_an_error(
    driver_of: Drivers, make_world: Any
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
    driver_of: Drivers, world: Any
) -> None:
    unified = run(driver_of(), ["wiki.unified"], world, 0)["wiki.unified"]
    world.failing = {(c, ch): OSError("x") for c in ("code", "review") for ch in ("vector", "text")}
    overrides = {**world.overrides(0), "wiki.unified": unified}
    out = driver_of().execute(["results"], {"query": "q", "now": NOW}, overrides=overrides)
    assert out["results"]["corpus"].unique().to_list() == ["wiki"]


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


def test_provenance_tells_how_the_answer_came_about(driver_of: Drivers, world: Any) -> None:
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
    assert told["variants"]["corpora"]["code"]["merged_variant"] == "convex"
    assert told["model"] == "none"
    assert told["degraded"] == []
    assert told["timings"]["fused"] > 0


def test_a_question_in_words_reaches_the_graph(driver_of: Drivers, world: Any) -> None:
    driver = driver_of()
    inputs = {"query": ["question 0", "src/cache.py"], "trigger": {"issue": 0.5, "slack": 0.5}}
    out = driver.execute(["queries", "results"], inputs, overrides=world.overrides(0))
    assert out["queries"]["texts"].to_list() == [["question 0", "src/cache.py"]]
    assert out["results"].height == 5
    with pytest.raises(CrosscorpusError, match="the query is empty"):
        driver.execute(["queries"], {"query": " "})
    with pytest.raises(UnknownName, match="did you mean 'issue'"):
        driver.execute(["queries"], {"query": "q", "trigger": "isue"})


@pytest.mark.parametrize("filters", [{"repos": ["pub"], "only_corpora": ["wiki"]}, {"repos": []}])
@pytest.mark.parametrize("by", ["inputs", "overrides"])
@pytest.mark.parametrize("node", ["queries", "scoped_queries"])
def test_a_filter_beside_the_node_that_would_have_to_keep_it_is_refused(
    driver_of: Drivers, world: Any, by: str, node: str, filters: dict[str, Any]
) -> None:
    driver = driver_of()
    frame = driver.execute([node], {"query": "q"}, overrides=world.overrides(0))[node]
    asked = {} if node == "queries" else {"query": "q"}
    call: dict[str, Any] = {"inputs": asked, "overrides": {**world.overrides(0), node: frame}}
    assert driver.execute(["results"], **call)["results"].height
    call[by] = {**call[by], **filters}
    names = ", ".join(sorted(filters))
    with pytest.raises(
        BatchError, match=f"^{names}: an input of one question, and the node {node} is overridden"
    ):
        driver.execute(["results"], **call)


def test_a_filter_given_twice_is_refused(driver_of: Drivers, world: Any) -> None:
    call: dict[str, Any] = {"inputs": {"query": "q", "repos": ["pub"]}}
    with pytest.raises(CrosscorpusError, match="repos is given as an input and as an override"):
        driver_of().execute(["results"], **call, overrides={**world.overrides(0), "repos": None})


def test_a_reranker_by_configuration_has_the_last_word(driver_of: Drivers, world: Any) -> None:
    driver = driver_of({"reranked": "cross_encoder"})

    def shortest(pairs: list[tuple[str, str]]) -> list[float]:
        return [-float(len(passage)) for _, passage in pairs]

    results = run(driver, ["results"], world, 0, reranker=shortest)["results"]
    assert results["text"].str.len_chars().is_sorted()
    with pytest.raises(
        CrosscorpusError, match=r"reranked needs: .* inputs=\{'reranker': \.\.\.\}$"
    ):
        run(driver, ["results"], world, 0)


@pytest.mark.parametrize(
    ("variants", "corpus"),
    [
        ({}, {}),
        ({"fused": "rrf", "aged_hits": "half_life"}, {"merged": "rrf"}),
        ({"fused": "comb_sum", "aged_hits": "off", "weighted": "off"}, {"merged": "weighted_rrf"}),
        ({"unique": "jaccard"}, {"deduped": "jaccard"}),
        ({"unique": "cosine", "packed": "tokens"}, {"deduped": "cosine", "merged": "text_only"}),
        ({"unique": "off"}, {"deduped": "off", "merged": "vector_only"}),
    ],
)
@given(data=st.data())
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_batch_gives_what_its_queries_give_alone_bit_for_bit(
    driver_of: Drivers,
    make_world: Any,
    make_queries: Any,
    variants: dict[str, str],
    corpus: dict[str, str],
    worlds: Any,
    data: st.DataObject,
) -> None:
    driver, world = driver_of(variants, **corpus), make_world(**data.draw(worlds))
    ids = sorted(world.found)
    wanted = ["code.unified", "fused", "weighted", "unique", "results"]
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
