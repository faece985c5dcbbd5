"""Who stays and what it carries, against plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.lists import flat, lists
from operators.dedup import across, within
from operators.dedup.representatives import absorb, drop_copies
from operators.dedup.token_index import index_tokens
from operators.frames import DEDUPED, FUSED, check

Make = Callable[..., pl.DataFrame]


@st.composite
def keepers(draw: st.DrawFn) -> list[int]:
    """For each row itself or an earlier row that stays."""
    found: list[int] = []
    for number in range(draw(st.integers(0, 12))):
        stay = [n for n, keeper in enumerate(found) if keeper == n]
        found.append(draw(st.sampled_from([number, *stay])))
    return found


def source(number: int) -> dict[str, Any]:
    return {
        "chunk_id": number,
        "corpus": "wiki",
        "source_label": f"[wiki: {number}]",
        "source_url": None if number % 2 else f"https://example.org/{number}",
    }


@given(keepers(), st.data())
def test_a_survivor_carries_its_copies_and_their_alternates(
    make_hits: Make, found: list[int], data: st.DataObject
) -> None:
    carried = [
        [source(100 * n + i) for i in range(1, 1 + data.draw(st.integers(0, 2)))]
        for n in range(len(found))
    ]
    hits = make_hits(
        *({**source(n), "rank": n, "alternate_sources": carried[n]} for n in range(len(found)))
    )
    result = absorb(hits, np.array(found, np.int64))
    check(result, FUSED, "unique")
    expected = []
    for number, keeper in enumerate(found):
        if keeper == number:
            others = list(carried[number])
            for copy in (n for n, k in enumerate(found) if k == number and n != number):
                others += [source(copy), *carried[copy]]
            expected.append((number, others))
    assert result.select("chunk_id", "alternate_sources").rows() == expected


@given(keepers())
def test_within_a_corpus_the_copies_are_named(make_merged: Make, found: list[int]) -> None:
    merged = make_merged(*({"chunk_id": 10 + n, "rank": n} for n in range(len(found))))
    result = drop_copies(merged, np.array(found, np.int64))
    check(result, DEDUPED, "deduped")
    stay = [n for n, keeper in enumerate(found) if keeper == n]
    assert result["chunk_id"].to_list() == [10 + n for n in stay]
    assert result["rank"].to_list() == list(range(len(stay)))
    assert result["duplicates"].to_list() == [
        [10 + n for n, k in enumerate(found) if k == keeper and n != keeper] for keeper in stay
    ]


def test_a_hit_whose_chunk_is_gone_goes(make_merged: Make, make_chunks: Make) -> None:
    merged = make_merged({"chunk_id": 1, "rank": 0}, {"chunk_id": 2, "rank": 1})
    chunks = make_chunks({"chunk_id": 2, "text": "a"})
    for found in (
        within.jaccard(merged, chunks, index_tokens(chunks)),
        within.cosine(merged, chunks),
        within.off(merged, chunks),
    ):
        assert found.select("chunk_id", "rank").rows() == [(2, 0)]


def test_the_best_ranked_stays_whatever_its_source_and_order_of_rows(make_hits: Make) -> None:
    hits = make_hits(
        {"chunk_id": 1, "corpus": "code", "rank": 1, "text": "same text"},
        {"chunk_id": 2, "corpus": "wiki", "rank": 0, "text": "Same  text"},
    )
    found = across.jaccard(hits)
    assert found["corpus"].to_list() == ["wiki"]
    assert found["alternate_sources"].to_list()[0][0]["chunk_id"] == 1


def test_dropping_copies_twice_changes_nothing(make_hits: Make) -> None:
    texts = ["a b c", "A b c", "d", "", " "]
    hits = make_hits(*({"chunk_id": n, "rank": n, "text": t} for n, t in enumerate(texts)))
    once = across.jaccard(hits)
    assert once["chunk_id"].to_list() == [0, 2, 3]
    assert across.jaccard(once).equals(once)


def test_copies_of_different_queries_stay(make_hits: Make) -> None:
    hits = make_hits(
        {"query_id": 0, "chunk_id": 1, "rank": 0, "text": "a"},
        {"query_id": 1, "chunk_id": 1, "rank": 0, "text": "a"},
        {"query_id": 1, "chunk_id": 2, "rank": 1, "text": "a"},
    )
    assert across.jaccard(hits).select("query_id", "chunk_id").rows() == [(0, 1), (1, 1)]


@given(st.lists(st.integers(0, 3), max_size=300))
def test_lists_are_made_of_values_and_taken_apart_again(sizes: list[int]) -> None:
    owner = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    values = pl.Series("a", np.arange(len(owner)))
    made = lists(values, owner, len(sizes))
    assert [len(one) for one in made.to_list()] == sizes
    again, row = flat(made)
    assert again.to_list() == values.to_list()
    assert row.tolist() == owner.tolist()
