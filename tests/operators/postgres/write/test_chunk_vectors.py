from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from operators.frames import CHUNKS
from operators.postgres.store import ModelMismatch, Store, collection_info, open_store
from operators.postgres.write import chunk_vectors
from operators.postgres.write.chunk_vectors import Some, embed_some, try_again
from operators.postgres.write.document_writer import write_documents

DIMENSIONS = 8


@pytest.fixture
def waiting(store: Store, filling: Any) -> Store:
    """Seven documents of three chunks each in two corpora, and no vector at all."""
    chunks = filling.chunks(
        [
            {"chunk_id": 10 * n + part, "document_id": f"d{n}", "ordinal": part}
            | {"corpus": "history" if n < 3 else "docs"}
            | {"created_at": datetime(2024, 1, n + 1, tzinfo=UTC)}
            for n in range(7)
            for part in range(3)
        ]
    ).with_columns(pl.lit(None, CHUNKS["embedding"]).alias("embedding"))
    write_documents(store, filling.documents(chunks), chunks)
    return store


def ones(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
    return np.ones((len(chunks), DIMENSIONS), np.float32), {}


def test_one_chunk_of_each_document_comes_before_the_second_the_newest_first_history_last(
    waiting: Store,
) -> None:
    taken: list[tuple[str, str]] = []

    def embed(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
        taken.extend(chunks["corpus", "document_id"].iter_rows())
        return ones(chunks)

    while embed_some(waiting, embed, limit=4):
        pass
    assert taken == [
        *[("docs", f"d{n}") for n in (6, 5, 4, 3)] * 3,
        *[("history", f"d{n}") for n in (2, 1, 0)] * 3,
    ]
    assert collection_info(waiting).unembedded == {}


def test_two_workers_never_have_the_same_chunk(waiting: Store, server_dsn: str) -> None:
    taken: list[int] = []
    both = threading.Barrier(2)

    def embed(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
        both.wait(30)  # both hold their chunks now
        taken.extend(chunks["chunk_id"])
        return ones(chunks)

    def work() -> Some | None:
        with open_store(server_dsn, waiting.collection, max_size=2) as own:
            return embed_some(own, embed, limit=5)

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(work) for _ in range(2)]
        assert [one.result() for one in found] == [Some("docs", 5, [])] * 2
    assert len(set(taken)) == 10
    assert sum(collection_info(waiting).unembedded.values()) == 11


def test_what_a_worker_had_in_hand_is_free_when_it_fails(waiting: Store) -> None:
    def die(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_some(waiting, die, limit=21)
    assert embed_some(waiting, ones, limit=21) == Some("docs", 12, [])


def test_a_chunk_that_has_no_usable_vector_keeps_the_reason_and_does_not_block_the_queue(
    waiting: Store,
) -> None:
    def embed(chunks: pl.DataFrame) -> tuple[Any, dict[int, str]]:
        vectors = np.ones((len(chunks), DIMENSIONS), np.float32)
        vectors[1] = np.inf
        return vectors, {0: "too long"}

    found = embed_some(waiting, embed, limit=12)
    assert found is not None
    assert (found.corpus, found.vectors) == ("docs", 10)
    assert dict(found.failed)["d6"] == "too long"
    assert "not finite" in dict(found.failed)["d5"]
    assert embed_some(waiting, ones, limit=12) == Some("history", 9, [])
    assert embed_some(waiting, ones, limit=12) is None
    try_again(waiting)
    assert embed_some(waiting, ones, limit=12) == Some("docs", 2, [])


def test_a_collection_that_has_left_the_workers_space_gets_none_of_its_vectors(
    waiting: Store,
) -> None:
    other = waiting.embedding_in("another")
    with pytest.raises(ModelMismatch):
        embed_some(other, ones, limit=5)
    assert sum(collection_info(waiting).unembedded.values()) == 21


def test_of_two_corpora_with_many_waiting_chunks_the_smaller_one_comes_first(
    store: Store, filling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_vectors, "COUNTED_UP_TO", 3)
    sizes = {"code": 9, "docs": 4, "history": 3, "wiki": 2}
    rows = [
        {"corpus": name, "document_id": name} for name, size in sizes.items() for _ in range(size)
    ]
    rows = [one | {"chunk_id": n, "ordinal": n} for n, one in enumerate(rows)]
    lacking = pl.lit(None, CHUNKS["embedding"]).alias("embedding")
    chunks = filling.chunks(rows).with_columns(lacking)
    write_documents(store, filling.documents(chunks), chunks)
    order = list[str]()
    while some := embed_some(store, ones, limit=10):
        order.append(some.corpus)
    assert order == ["wiki", "docs", "code", "history"]
