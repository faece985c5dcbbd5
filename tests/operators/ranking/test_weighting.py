"""Weights by what asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.errors import CrosscorpusError, UnknownName
from operators.frames import QUERIES
from operators.question.intent import intent
from operators.ranking.weighting import read_trigger, trigger_weights, weigh, weigh_languages

Make = Callable[..., pl.DataFrame]
KNOWN = ["pr_review", "issue", "question", "slack"]
WEIGHTS = {
    "code": {"pr_review": 1.2},
    "wiki": {"issue": 1.2, "question": 1.5},
    "docs": {"question": 0.0},
}


@pytest.mark.parametrize("trigger", [None, "none", {}])
def test_no_trigger_is_an_empty_mix(trigger: Any) -> None:
    assert read_trigger(trigger, KNOWN) == []


def test_a_name_is_a_mix_of_one() -> None:
    assert read_trigger("issue", KNOWN) == [("issue", 1.0)]
    assert read_trigger({"issue": 1, "slack": 3}, KNOWN) == [("issue", 1.0), ("slack", 3.0)]


def test_an_unknown_trigger_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="'pr_reviw', did you mean 'pr_review'"):
        read_trigger("pr_reviw", KNOWN)
    with pytest.raises(UnknownName, match="unknown trigger ''"):
        read_trigger("", KNOWN)


@pytest.mark.parametrize("share", [-1, "0.5"])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(CrosscorpusError, match="share of trigger 'issue'"):
        read_trigger({"issue": share}, KNOWN)


def test_shares_that_are_all_0_are_refused() -> None:
    with pytest.raises(CrosscorpusError, match="must not all be 0"):
        read_trigger({"issue": 0.0}, KNOWN)


mixes = st.lists(
    st.tuples(st.sampled_from(KNOWN), st.sampled_from([0.3, 0.7, 1.0, 2.0])),
    max_size=3,
    unique_by=lambda one: one[0],
)


@given(
    st.lists(mixes, min_size=1, max_size=4),
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["code", "wiki", "docs", "other"]),
            st.sampled_from([0.1, 0.5, 1.0]),
        ),
        max_size=12,
    ),
)
def test_each_score_is_times_the_mean_weight_of_its_querys_mix(
    make_hits: Make,
    make_queries: Make,
    triggers: list[list[tuple[str, float]]],
    found: list[tuple[int, str, float]],
) -> None:
    queries = make_queries(
        *(
            {"query_id": q, "trigger": [{"trigger": t, "share": s} for t, s in mix]}
            for q, mix in enumerate(triggers)
        )
    )
    found = [one for one in found if one[0] < len(triggers)]
    hits = make_hits(
        *(
            {"query_id": q, "chunk_id": n, "corpus": c, "score": s, "rank": 0}
            for n, (q, c, s) in enumerate(found)
        )
    )
    if not found:
        return
    expected = {}
    for number, (query, corpus, score) in enumerate(found):
        mix, weights = triggers[query], WEIGHTS.get(corpus, {})
        total = weighted = 0.0
        for trigger, share in mix:
            total += share
            weighted += share * weights.get(trigger, 1.0)
        expected[number] = score * (weighted / total if mix else 1.0)
    weights = trigger_weights(queries, intent(queries, queries), WEIGHTS)
    result = weigh(hits, weights)
    assert dict(result.select("chunk_id", "score").iter_rows()) == expected
    if (weights["weight"] != 1.0).any():  # else the list stays as it is
        order = sorted(expected, key=lambda n: (found[n][0], -expected[n], n))
        assert result["chunk_id"].to_list() == order


@pytest.mark.parametrize(
    ("question", "weight"),
    [
        ("Why are buckets not refilled by a timer?", 1.0),
        ("since when is the limit 5?", 1.0),
        ("how are buckets refilled when they are empty?", 0.5),
    ],
)
def test_asked_why_the_corpora_of_reasons_are_not_weighed_down(
    question: str, weight: float
) -> None:
    rows = [
        {"query_id": 0, "texts": [question], "trigger": [{"trigger": "question", "share": 1.0}]}
    ]
    queries = pl.DataFrame(rows, schema=QUERIES)
    low = {"history": {"question": 0.5}, "wiki": {"question": 0.5}}
    found = trigger_weights(queries, intent(queries, queries), low, reason_corpora=["history"])
    assert dict(found["corpus", "weight"].iter_rows()) == {"history": weight, "wiki": 0.5}


@given(st.lists(st.tuples(st.sampled_from(["rust", "go", None]), st.floats(0.1, 1.0)), min_size=1))
def test_each_score_is_times_the_weight_of_its_language(
    make_hits: Make, found: list[tuple[str | None, float]]
) -> None:
    rows = [{"chunk_id": n, "language": of, "score": s} for n, (of, s) in enumerate(found)]
    result = weigh_languages(make_hits(*rows), {"rust": 1.1, "cobol": 9.0})
    expected = {n: s * 1.1 if of == "rust" else s for n, (of, s) in enumerate(found)}
    assert dict(result["chunk_id", "score"].iter_rows()) == expected
    assert result["chunk_id"].to_list() == sorted(expected, key=lambda n: (-expected[n], n))
