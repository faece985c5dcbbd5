"""A collection in shards answers as one that is whole: on a real cluster, `make test-citus`."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from ingesting import ingest_documents
from vector_indexes import build_vector_indexes
from word_embedder import WordEmbedder

from dataflow import build_driver
from operators.errors import CrosscorpusError
from operators.frames import QUERY_EMBEDDINGS
from operators.postgres.inspect.verify import verify
from operators.postgres.search.vector_search import search_vectors
from operators.postgres.store import Store, drop_collection, open_store

pytestmark = pytest.mark.skipif(
    "CLUSTER_KILL" not in os.environ, reason="needs a Citus cluster: make test-citus"
)
WORDS = [f"{a}{b}" for a in ("mer", "ca", "flu", "sto", "ru", "gra") for b in ("ge", "che", "sh")]
QUESTIONS = [f"why {' '.join(random.Random(n).sample(WORDS, 3))}" for n in range(20)]


def document(n: int, version: int) -> dict[str, Any]:
    words = random.Random(n * 7 + version).choices(WORDS, k=30)
    name = f"v{version}/page{n}.md"
    return {
        "doc_id": name,
        "path": name,
        "corpus": "docs" if n % 3 else "code",
        "text": f"# Page {n}\n\n{' '.join(words)}",
        "version": f"{version}.0",
    }


@pytest.fixture(scope="module")
def dsn() -> str:
    return os.environ["CROSSCORPUS_TEST_DSN"]


@pytest.fixture(scope="module")
def stores(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """The same documents in a whole collection and in one of four shards."""
    file = tmp_path_factory.mktemp("shards") / "documents.jsonl"
    rows = [document(n, version) for n in range(300) for version in (1, 2)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (
        open_store(dsn, "whole", create=True) as whole,
        open_store(dsn, "parts", create=True, shards=4) as parts,
    ):
        for store in (whole, parts):
            ingest_documents(store, WordEmbedder(), file)
            ingest_documents(store, WordEmbedder(), file)  # and nothing is new
            assert verify(store).is_empty()
        yield whole, parts
    for name in ("whole", "parts"):
        drop_collection(dsn, name)


def answers(store: Store, **more: Any) -> list[pl.DataFrame]:
    with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
        return [driver.execute(["results"], {"query": q, **more})["results"] for q in QUESTIONS]


@pytest.mark.parametrize("more", [{}, {"versions": ["1.0"]}, {"path_prefix": "v2/page1"}])
def test_answers_of_shards_are_those_of_the_whole(stores: Any, more: dict[str, Any]) -> None:
    for one, two in zip(*(answers(store, **more) for store in stores), strict=True):
        assert one.height
        assert one.equals(two)


def test_an_index_of_shards_finds_no_less(stores: Any) -> None:
    embedder = WordEmbedder()
    vectors = embedder.embed_queries(QUESTIONS)
    numbers = {"query_id": 0, "text_no": range(len(QUESTIONS)), "text": QUESTIONS}
    given = pl.DataFrame({**numbers, "embedding": vectors})
    embeddings = given.select(pl.col(name).cast(kind) for name, kind in QUERY_EMBEDDINGS.items())
    recalls = []
    for store in stores:
        build_vector_indexes(store, above=50)
        with build_driver("default", store=store, embedder=embedder) as driver:
            scoped = driver.execute(["scoped_queries"], {"query": QUESTIONS})["scoped_queries"]
        exact, indexed = (
            search_vectors(store, "docs", scoped, embeddings, k=50, exact_scan_max_rows=most)
            for most in (10_000, 50)
        )
        both = exact.join(indexed, on=["query_id", "text_no", "chunk_id"])
        assert exact.height == 50 * len(QUESTIONS)
        recalls.append(both.height / exact.height)
    assert recalls[1] >= min(recalls[0], 0.99)


def test_a_number_of_shards_stays(stores: Any, dsn: str) -> None:
    with pytest.raises(CrosscorpusError, match="has 4 shards, a number that stays"):
        open_store(dsn, "parts", create=True, shards=8)
