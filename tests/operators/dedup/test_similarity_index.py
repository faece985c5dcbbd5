from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from operators.dedup.similarity_index import index_similarity


def chunks(vectors: Any, texts: list[str | None]) -> pl.DataFrame:
    embedding = pl.Series("embedding", vectors, dtype=pl.List(pl.Float32))
    return pl.DataFrame({"chunk_id": range(len(texts)), "text": texts, "embedding": embedding})


def test_texts_have_single_spaces_and_vectors_the_length_one() -> None:
    found = index_similarity(chunks([[3, 4], None, [0, 2]], ["one and\ttwo  three", None, " \n"]))
    assert found.text == ["one and two three", "", ""]
    np.testing.assert_allclose(found.vector, [[0.6, 0.8], [0, 0], [0, 1]])


@pytest.mark.parametrize(
    "vector", [None, [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1.0], []]
)
def test_an_unusable_vector_is_all_zeros(vector: list[float] | None) -> None:
    found = index_similarity(chunks([[1, 0], [1, 0], vector], ["a", "b", "c"]))
    assert found.vector.tolist() == [[1, 0], [1, 0], [0, 0]]


def test_a_frame_without_embeddings_has_texts_alone() -> None:
    found = index_similarity(chunks([None], ["a"]).drop("embedding"))
    assert (found.text, found.vector.shape) == (["a"], (1, 0))
