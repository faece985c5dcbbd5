from __future__ import annotations

from typing import Any

from vector_indexes import build_vector_indexes

from operators.postgres.inspect.index_recall import index_recall, sample_text
from operators.postgres.store import Store


def test_a_small_corpus_is_found_whole_by_its_index(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": n, "document_id": f"d{n}"} for n in range(50)])
    build_vector_indexes(store)
    assert index_recall(store, "code", samples=5, k=10) == 1.0


def test_a_corpus_without_vectors_has_no_recall(store: Store) -> None:
    assert index_recall(store, "absent", samples=5, k=10) is None


def test_a_sample_is_the_beginning_of_a_text_with_a_word(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1, "text": "  ..."}, {"chunk_id": 2, "text": "  a word"}])
    assert sample_text(store, "code") == "a word"
    assert sample_text(store, "absent") == ""
