"""A model whose similarities begin high answers as it would without that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ingested import document
from numpy.typing import NDArray
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.ingestion.loop import ingest
from operators.embedding.background import UNRELATED, background, distance_factor
from operators.postgres.store import Store, collection_info, drop_collection, open_store
from operators.sources.jsonl import documents_source

RAISED = 0.8
WORDS = ("pump valve seal", "orchard apple graft", "pump motor", "harbour crane", "valve spring")


class High(WordEmbedder):
    """Similarities of ``WordEmbedder`` from ``RAISED`` to 1: a part of each vector is common."""

    dimensions = 33

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return _raised(super().embed_documents(texts))

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return _raised(super().embed_queries(texts))

    def _vector(self, text: str) -> NDArray[np.float32]:
        self.dimensions = 32
        try:
            return super()._vector(text)
        finally:
            self.dimensions = 33


def _raised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    common = np.full((len(vectors), 1), np.sqrt(RAISED), np.float32)
    return np.hstack([common, vectors * np.float32(np.sqrt(1 - RAISED))])


def answers(store: Store, embedder: Any, file: Any) -> Any:
    ingest(store, embedder, documents_source(file))
    driver = build_driver("default", store=store, embedder=embedder)
    return driver.execute(["results"], inputs={"query": "which valve has the pump"})["results"]


def test_a_model_whose_similarities_begin_high_answers_as_without_that(
    server_dsn: str, write_lines: Any
) -> None:
    file = write_lines(*(document(n, text=text * 9) for n, text in enumerate(WORDS)))
    plain, high = WordEmbedder(), High()
    found = []
    for embedder in (plain, high):
        with open_store(server_dsn, "background", create=True, max_size=2) as store:
            found.append(answers(store, embedder, file))
            measured = collection_info(store).background
            drop_collection(store.dsn, "background")
        assert measured == background(embedder)
    one, other = found
    assert one["document_id"].to_list() == other["document_id"].to_list()
    for column in ("score", "vector_distance"):
        assert other[column].to_list() == pytest.approx(one[column].to_list(), abs=0.02)


def test_the_background_is_that_of_different_texts_and_raises_no_usual_model() -> None:
    assert len(set(UNRELATED)) == len(UNRELATED) > 20
    assert background(High()) == pytest.approx(
        RAISED + (1 - RAISED) * background(WordEmbedder()), abs=0.001
    )
    assert distance_factor(-0.2) == distance_factor(0.01) == distance_factor(1.0) == 1.0
