"""Explanations over made-up searches: numbers give the score, every passage has a disposition."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators import frames
from operators.explain.waterfall import FACTORS, waterfall

Drivers = Callable[..., Any]
NOW = datetime(2025, 6, 1, tzinfo=UTC)
WANTED = ["explain", "dispositions", "results", "weighted", "context_window"]


def given_score(told: pl.DataFrame) -> dict[str, float]:
    """The score of each stage, worked out from the numbers of one passage alone."""
    rows = told.drop_nulls("value").select("stage", "quantity", "value").iter_rows()
    numbers: dict[tuple[str, str], float] = {}
    parts = []
    for stage, quantity, value in rows:
        numbers[stage, quantity] = value
        if quantity == "part":
            parts.append(value)

    scores = {"merged": numbers["merged", "vector_part"] + numbers["merged", "text_part"]}
    total = parts[0]
    for part in parts[1:]:
        total += part
    scores["fused"] = total * numbers["fused", "recency"]
    last = scores["fused"]
    if ("weighted", "weight") in numbers:
        last = scores["weighted"] = last * numbers["weighted", "weight"]
    if ("weighted", "language_weight") in numbers:
        last = scores["weighted"] = last * numbers["weighted", "language_weight"]
    scores["results"] = numbers.get(("reranked", "score"), last)
    return scores


@given(
    data=st.data(),
    merged=st.sampled_from(["rrf", "weighted_rrf", "convex", "vector_only", "text_only"]),
    fused=st.sampled_from(["rrf", "comb_sum"]),
    normalized=st.sampled_from(["common_scale", "by_list"]),
    recency=st.sampled_from(["step", "off"]),
    weighted=st.sampled_from(["by_trigger", "off"]),
    norms=st.tuples(*[st.sampled_from(["min_max", "max", "raw"])] * 2),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.6, 0.7, 1.0]),
    absent=st.sampled_from([0.0, 0.3, 1.0]),
    trigger=st.sampled_from(["none", "pr_review", "question"]),
    languages=st.sampled_from([{}, {"python": 1.3}]),
)
@settings(max_examples=25)
def test_the_numbers_of_every_result_give_its_score_to_the_last_bit(
    driver_of: Drivers,
    make_world: Any,
    make_queries: Any,
    worlds: Any,
    data: st.DataObject,
    merged: str,
    fused: str,
    normalized: str,
    recency: str,
    weighted: str,
    norms: tuple[str, str],
    share: float,
    absent: float,
    trigger: str,
    languages: dict[str, float],
) -> None:
    stages = {"fused": fused, "aged_hits": recency, "weighted": weighted}
    driver = driver_of({**stages, "merged": merged, "normalized": normalized})
    world = make_world(**data.draw(worlds))
    ids = sorted(world.found)
    overrides = {**world.overrides(*ids), "queries": make_queries(*ids, trigger=trigger)}
    overrides["languages"] = languages
    if merged in ("convex", "weighted_rrf"):
        overrides["vector_weight"] = share
    if normalized == "by_list":
        overrides |= {"vector_norm": norms[0], "text_norm": norms[1]}
    else:
        overrides["missing_score_fraction"] = absent
    clock = {} if recency == "off" else {"now": NOW}
    out = driver.execute([*WANTED, "merged"], clock, overrides=overrides)
    frames.check(out["explain"], frames.EXPLAIN, "explain")
    frames.check(out["dispositions"], frames.DISPOSITIONS, "dispositions")
    key = ["query_id", "chunk_id"]
    assert out["dispositions"].select(key).equals(out["results"].select(key))
    told = dict(out["explain"].partition_by(key, as_dict=True, maintain_order=True).items())
    for row in out["results"].iter_rows(named=True):
        mine = told[row["query_id"], row["chunk_id"]]
        scores = given_score(mine)
        assert scores["results"] == row["score"]
        assert scores["merged"] == row["corpus_score"]
        shown = mine.filter(quantity="score").select("stage", "value").iter_rows()
        assert all(scores[stage] == value for stage, value in shown if stage in scores)


def explained(driver: Any, world: Any, queries: pl.DataFrame, **inputs: Any) -> dict[str, Any]:
    overrides = {**world.overrides(*queries["query_id"]), "queries": queries}
    explain_targets = inputs.pop("explain_targets", None)
    if explain_targets is not None:
        overrides["explain_targets"] = explain_targets
    out: dict[str, Any] = driver.execute(WANTED, {"now": NOW, **inputs}, overrides=overrides)
    return out


def named(*chunks: int, corpus: str = "code", **columns: Any) -> pl.DataFrame:
    rows = [
        {"query_id": 0, "chunk_id": chunk, "corpus": corpus, "source_label": f"[{chunk}]"} | columns
        for chunk in chunks
    ]
    return pl.DataFrame(rows, schema=frames.EXPLAIN_TARGETS)


def dispositions(out: dict[str, Any]) -> dict[int, tuple[str, str, int | None]]:
    rows = (
        out["dispositions"]
        .select("chunk_id", "disposition", "reason", "near_duplicate_of")
        .iter_rows()
    )
    return {chunk: tuple(rest) for chunk, *rest in rows}


def test_a_near_duplicate_of_another_corpus_names_what_represents_it(
    driver_of: Drivers, world: Any, make_queries: Any
) -> None:
    out = explained(
        driver_of(), world, make_queries(0), explain_targets=named(3, 11, 22, corpus="review")
    )
    told = dispositions(out)
    (kept,) = [chunk for chunk in (3, 11, 22) if told[chunk][0] == "context"]
    for other in {3, 11, 22} - {kept}:
        assert told[other][0] == "near_duplicate_across"
        assert told[other][2] == kept
    rows = out["explain"].filter(chunk_id=kept, stage="unique", quantity="near-duplicate")
    assert set(rows["other"]) == {3, 11, 22} - {kept}
    assert rows["detail"].is_not_null().all()
    (others,) = out["dispositions"].filter(chunk_id=kept)["near_duplicates"].to_list()
    assert {one["chunk_id"] for one in others} == {3, 11, 22} - {kept}


def test_a_near_duplicate_within_a_corpus_names_what_represents_it(
    driver_of: Drivers, make_world: Any, make_queries: Any
) -> None:
    same = "the cache is flushed twice"
    world = make_world(
        texts={"code": {1: same, 2: f" {same}\n", 3: "other"}, "review": {}, "wiki": {}},
        found={0: {"code": ([1, 2, 3], [])}},
    )
    out = explained(driver_of(), world, make_queries(0), explain_targets=named(2))
    disposition, reason, other = dispositions(out)[2]
    assert (disposition, other) == ("near_duplicate_within", 1)
    assert "Title 1" in reason or "src/1.py" in reason
    assert (
        out["explain"].filter(chunk_id=1, stage="deduped", quantity="near-duplicate")["other"][0]
        == 2
    )


@pytest.mark.parametrize(
    ("case", "disposition", "reason"),
    [
        (
            {"top_k": 1, "context_depth": 1},
            "below_top_k",
            "5th without the near-duplicates; the results end after 1",
        ),
        ({"context_depth": 1}, "over_budget", "the context is filled from the first 1 alone"),
        ({"context_budget": 99, "context_floor": 0.0}, "over_budget", "that were left"),
        ({"context_floor": 0.9}, "below_floor", "too small a share of the best"),
        ({"context_floor": 0.0}, "context", "of 12,000 characters; cited"),
    ],
)
def test_every_cut_says_where_it_cut(
    driver_of: Drivers,
    world: Any,
    make_queries: Any,
    case: dict[str, float],
    disposition: str,
    reason: str,
) -> None:
    out = explained(driver_of(), world, make_queries(0))
    last = out["results"]["chunk_id"].to_list()[-1]
    out = explained(driver_of(), world, make_queries(0), explain_targets=named(last), **case)
    assert dispositions(out)[last][0] == disposition
    assert reason in dispositions(out)[last][1]


def test_what_no_list_has_says_how_far_the_lists_went(
    driver_of: Drivers, world: Any, make_queries: Any
) -> None:
    explain_targets = named(99, vector_distance=0.9)
    full = explained(driver_of(), world, make_queries(0), explain_targets=explain_targets)
    assert dispositions(full)[99][:2] == ("not_found", "without a word of the question")
    config = driver_of().config.with_changes(
        {"corpus_defaults": {"parameters": {"search_depth": 2}}}
    )
    overrides = {
        **world.overrides(0),
        "queries": make_queries(0),
        "explain_targets": explain_targets,
    }
    trace = driver_of().trace(WANTED, {"now": NOW}, overrides)
    cut = dispositions(dict(driver_of().what_if(trace, config)))[99]
    assert cut[0] == "below_search_depth"
    assert cut[1].startswith(
        "further away (its distance is 0.900) than the 2 nearest, which end at"
    )


def test_what_is_hidden_or_not_searched_says_so(
    driver_of: Drivers, world: Any, make_queries: Any
) -> None:
    world.failing = {("wiki", "vector"): TimeoutError("slow"), ("wiki", "text"): OSError("gone")}
    explain_targets = pl.concat([named(98, hidden="created later"), named(99, corpus="wiki")])
    told = dispositions(
        explained(driver_of(), world, make_queries(0), explain_targets=explain_targets)
    )
    assert told[98][:2] == ("hidden", "created later")
    assert told[99][:2] == (
        "not_searched",
        "its vector search timed out and its text search failed",
    )


def test_a_stage_that_was_overridden_shows_no_number_that_does_not_add_up(
    driver_of: Drivers, world: Any, make_queries: Any
) -> None:
    driver = driver_of()
    overrides = {**world.overrides(0), "queries": make_queries(0)}
    merged = driver.execute(["merged"], {"now": NOW}, overrides=overrides)["merged"]
    less = pl.when(corpus="code").then(0.9).otherwise(1.0)
    overrides["merged"] = merged.with_columns(score=pl.col("score") * less)
    out = driver.execute(["explain", "fused"], {"now": NOW}, overrides=overrides)["explain"]
    shown = out.filter(stage="merged").join(merged["chunk_id", "corpus"], on="chunk_id")
    assert set(shown.filter(corpus="code")["quantity"]) == {"score"}
    assert "vector_part" in set(shown.filter(pl.col("corpus") != "code")["quantity"])
    overrides["fused"] = pl.DataFrame(schema=frames.FUSED)
    told = driver.execute(
        ["dispositions"], {"now": NOW}, {**overrides, "explain_targets": named(1)}
    )
    assert told["dispositions"]["disposition"].to_list() == ["dropped"]


@given(
    data=st.data(),
    merged=st.sampled_from(["rrf", "convex", "text_only"]),
    fused=st.sampled_from(["rrf", "comb_sum"]),
    reranked=st.sampled_from(["off", "cross_encoder"]),
)
@settings(max_examples=10)
def test_a_waterfall_goes_from_nothing_to_the_score_without_a_gap(
    driver_of: Drivers,
    make_world: Any,
    make_queries: Any,
    worlds: Any,
    data: st.DataObject,
    merged: str,
    fused: str,
    reranked: str,
) -> None:
    driver = driver_of({"fused": fused, "reranked": reranked, "merged": merged})
    world, asked = make_world(**data.draw(worlds)), make_queries(0, trigger="pr_review")
    reranker = {"reranker": lambda pairs: [len(text) / 7 for _, text in pairs]}
    explain_targets = named(1, 2, 3)
    inputs = reranker if reranked != "off" else {}
    out = explained(driver, world, asked, explain_targets=explain_targets, **inputs)
    for row in out["dispositions"].iter_rows(named=True):
        steps = waterfall(out["explain"].filter(chunk_id=row["chunk_id"]))
        ends = [0.0, *(step.after for step in steps)]
        assert [step.before for step in steps] == ends[:-1]
        assert (ends[-1] if steps else None) == row["score"]
        assert {step.factor for step in steps} <= {*FACTORS, "reranked"}
        assert all(step.meaning for step in steps)
