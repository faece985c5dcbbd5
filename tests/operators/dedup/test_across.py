from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import polars as pl

from operators.dedup import across

Make = Callable[..., pl.DataFrame]

DAY = datetime(2020, 1, 1, tzinfo=UTC)


def test_the_best_ranked_stays_whatever_its_source_and_order_of_rows(make_hits: Make) -> None:
    hits = make_hits(
        {"chunk_id": 1, "corpus": "code", "rank": 1, "text": "same text"},
        {"chunk_id": 2, "corpus": "wiki", "rank": 0, "text": "Same  text"},
    )
    found = across.jaccard(hits)
    assert found["corpus"].to_list() == ["wiki"]
    assert found["alternate_sources"].to_list()[0][0]["chunk_id"] == 1


def test_across_corpora_the_vectors_come_from_their_chunks(
    make_chunks: Make, make_hits: Make
) -> None:
    chunks = make_chunks(
        {"chunk_id": 1, "embedding": [1.0, 0.0]},
        {"chunk_id": 2, "corpus": "wiki", "embedding": [1.0, 0.01]},
    )
    hits = make_hits(
        {"chunk_id": 2, "corpus": "wiki", "rank": 0},
        {"chunk_id": 1, "rank": 1},
        {"chunk_id": 9, "rank": 2, "document_id": "z"},
    )
    found = across.cosine(hits, chunks)
    assert found["chunk_id"].to_list() == [2, 9]
    assert found["rank"].to_list() == [0, 1]
    assert [one["chunk_id"] for one in found["alternate_sources"][0]] == [1]
    assert across.cosine(hits, chunks.clear()).height == 3


def test_across_corpora_the_later_one_names_the_other(make_hits: Make, make_chunks: Make) -> None:
    hits = make_hits(
        {"chunk_id": 0, "rank": 0, "doc_date": DAY},
        {"chunk_id": 1, "rank": 1, "corpus": "docs", "doc_date": DAY + timedelta(1)},
    )
    vectors = make_chunks(*({"chunk_id": n, "embedding": [1.0, 0.0]} for n in range(2)))
    unique = across.newest(hits, vectors)
    assert unique["chunk_id"].to_list() == [1]
    assert [one["chunk_id"] for one in unique["alternate_sources"][0]] == [0]
