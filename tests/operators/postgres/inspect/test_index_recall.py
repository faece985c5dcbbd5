from __future__ import annotations

from math import cos, sin
from typing import Any

from vector_indexes import build_vector_indexes

from operators.postgres.inspect.index_recall import index_recall, sample_text
from operators.postgres.store import Store

DIMENSIONS = 8


def test_a_small_corpus_is_found_whole_by_its_index(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": n, "document_id": f"d{n}"} for n in range(50)])
    build_vector_indexes(store)
    assert index_recall(store, "code", samples=5, k=10) == 1.0


def test_equal_vectors_at_the_end_of_a_list_cost_no_recall(store: Store, filling: Any) -> None:
    """Many commits have one message: which of its equal vectors a scan returns says nothing."""
    angles = {number: number / 10 if number < 7 else 1.5 for number in range(200)}
    rows = [
        {"chunk_id": number, "embedding": [cos(angle), sin(angle), *[0.0] * (DIMENSIONS - 2)]}
        for number, angle in angles.items()
    ]
    filling.write(store, rows[100:])
    filling.write(store, rows[:100])
    build_vector_indexes(store)
    assert index_recall(store, "code", samples=1, k=10) == 1.0


def test_a_corpus_without_vectors_has_no_recall(store: Store) -> None:
    assert index_recall(store, "absent", samples=5, k=10) is None


def test_a_sample_is_the_beginning_of_a_text_with_a_word(store: Store, filling: Any) -> None:
    filling.write(store, [{"chunk_id": 1, "text": "  ..."}, {"chunk_id": 2, "text": "  a word"}])
    assert sample_text(store, "code") == "a word"
    assert sample_text(store, "absent") == ""
