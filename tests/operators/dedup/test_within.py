from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import polars as pl

from operators.dedup import within
from operators.dedup.token_index import index_tokens
from operators.frames import MERGED

Make = Callable[..., pl.DataFrame]

DAY = datetime(2020, 1, 1, tzinfo=UTC)


def test_a_hit_whose_chunk_is_gone_goes(make_merged: Make, make_chunks: Make) -> None:
    merged = make_merged({"chunk_id": 1, "rank": 0}, {"chunk_id": 2, "rank": 1})
    chunks = make_chunks({"chunk_id": 2, "text": "a"})
    for found in (
        within.jaccard(merged, index_tokens(chunks)),
        within.cosine(merged, chunks),
        within.off(merged, chunks),
    ):
        assert found.select("chunk_id", "rank").rows() == [(2, 0)]


def test_within_a_corpus_the_later_one_stays_in_its_own_place(
    make_merged: Make, make_chunks: Make
) -> None:
    merged = make_merged(*({"chunk_id": n, "rank": n} for n in range(3)))
    found = make_chunks(
        {"chunk_id": 0, "document_id": "old", "doc_date": DAY, "embedding": [1.0, 0.0]},
        {"chunk_id": 1, "document_id": "other", "doc_date": DAY, "embedding": [0.0, 1.0]},
        {
            "chunk_id": 2,
            "document_id": "new",
            "doc_date": DAY + timedelta(1),
            "embedding": [1.0, 0.0],
        },
    )
    deduped = within.newest(merged, found)
    assert deduped["chunk_id"].to_list() == [1, 2]
    assert deduped["rank"].to_list() == [0, 1]
    assert deduped["duplicates"].to_list() == [[], [0]]
    assert set(MERGED) <= set(deduped.columns)
