from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from operators.frames import READ_CHUNKS, check
from operators.postgres.search.batches import SearchTimeout
from operators.postgres.search.chunk_reader import fetch_chunks
from operators.postgres.store import Store


def test_chunks_come_once_each_and_by_chunk_id(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": n} for n in (4, 2, 9)])
    ids = pl.Series([9, 2, 9, None, 77], dtype=pl.Int64)
    found = fetch_chunks(store, "code", ids, filling.queries([{}, {}]))
    assert found["chunk_id"].to_list() == [2, 9]
    assert found["embedding"].dtype == pl.Array(pl.Float32, 8)
    check(found, READ_CHUNKS, "chunks")


@pytest.mark.parametrize("ids", [[], [404]])
def test_no_chunk_is_a_frame_of_the_same_columns(
    store: Store, filling: Any, ids: list[int]
) -> None:
    filling.write(store, [{"chunk_id": 1}])
    found = fetch_chunks(store, "code", pl.Series(ids, dtype=pl.Int64), filling.queries([{}]))
    assert found.is_empty()
    assert found["embedding"].dtype == pl.Array(pl.Float32, 8)
    check(found, READ_CHUNKS, "chunks")


def test_without_a_query_nothing_may_be_seen(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1}])
    assert fetch_chunks(store, "code", pl.Series([1]), filling.queries([])).is_empty()


def test_a_chunk_of_another_corpus_is_not_read(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1, "corpus": "wiki"}])
    assert fetch_chunks(store, "code", pl.Series([1]), filling.queries([{}])).is_empty()


def test_reading_past_its_time_says_so(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1}])
    with pytest.raises(SearchTimeout, match="reading chunks of corpus 'code'"):
        fetch_chunks(store, "code", pl.Series([1]), filling.queries([{}]), timeout_s=1e-9)


@pytest.mark.parametrize("lost", [[1], [1, 2]])
def test_a_chunk_that_lost_its_vector_takes_no_other_along(
    store: Store, filling: Any, lost: list[int]
) -> None:
    filling.write(store, [{"chunk_id": 1}, {"chunk_id": 2}])
    statement = "UPDATE chunks SET embedding = NULL WHERE chunk_id = ANY(%s::bigint[])"
    store.run(lambda conn: conn.execute(statement, (lost,)))
    found = fetch_chunks(store, "code", pl.Series([1, 2]), filling.queries([{}]))
    usable = [any(vector) for vector in found["embedding"].to_list()]
    assert usable == [number not in lost for number in (1, 2)]
    check(found, READ_CHUNKS, "chunks")
