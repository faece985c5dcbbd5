"""A collection is dropped and made again with another model while others have it open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from operators.postgres.store import (
    ModelMismatch,
    Store,
    collection_info,
    drop_collection,
    open_store,
)

Write = Callable[..., Path]


def document(number: int) -> dict[str, Any]:
    return {
        "doc_id": f"d{number:03}", "corpus": ("docs", "wiki")[number % 2], "repo": "org/app",
        "title": f"Page {number}", "text": " ".join(f"word{number}x{n}" for n in range(60)),
    }  # fmt: skip


@pytest.fixture
def file(write_lines: Write) -> Path:
    return write_lines(*(document(n) for n in range(12)))


@pytest.fixture
def filled(store: Store, embedder: Any, file: Path) -> Store:
    ingest_documents(store, embedder, file)
    return store


def make_again(store: Store, embedder: Any, file: Path) -> None:
    """As another process does: ``store`` does not know of it."""
    drop_collection(store.dsn, store.collection)
    with open_store(store.dsn, store.collection, create=True) as again:
        assert ingest_documents(again, embedder, file).ok


def ask(driver: Any) -> Any:
    return driver.execute(["results", "outcomes", "notes"], inputs={"query": "word3x1 word3x2"})


def test_a_driver_of_the_old_model_goes_on_by_words_and_says_so(
    filled: Store, embedder: Any, new_embedder: Any, file: Path
) -> None:
    second = new_embedder("words-2")
    second.model, second.dimensions = "more words", 48
    with build_driver(load_config("default"), store=filled, embedder=embedder) as driver:
        ask(driver)
        make_again(filled, second, file)
        filled.forget_info()  # which a second does as well
        answer = ask(driver)
        assert "d003" in answer["results"]["document_id"].to_list()
        failed = answer["outcomes"].filter(channel="vector", status="failed")
        assert failed["corpus"].to_list() == ["docs", "wiki"]
        assert "open it with embedding: more words" in failed["error"][0]
        assert not answer["notes"].is_empty()
    with pytest.raises(ModelMismatch, match=r"'more words'.*'words'"):
        build_driver(load_config("default"), store=filled, embedder=embedder)
    with build_driver(load_config("default"), store=filled, embedder=second) as driver:
        assert set(ask(driver)["outcomes"]["status"]) <= {"ok", "absent", "empty"}


def test_a_process_whose_knowledge_is_a_second_old_gets_no_row_of_the_new_model(
    filled: Store, embedder: Any, new_embedder: Any, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("operators.postgres.store.INFO_SECONDS", 60.0)
    with build_driver(load_config("default"), store=filled, embedder=embedder) as driver:
        ask(driver)
        info = collection_info(filled)
        make_again(filled, new_embedder("words-2"), file)
        assert collection_info(filled) is info, "the test is about what it does not know yet"
        outcomes = ask(driver)["outcomes"].filter(channel="vector")
        assert set(outcomes.filter(corpus="docs")["status"]) == {"failed"}


def test_an_ingestion_of_the_old_model_that_is_overtaken_ends_without_writing(
    filled: Store, embedder: Any, new_embedder: Any, file: Path, write_lines: Write
) -> None:
    second, done = new_embedder("words-2"), []

    def overtake(event: Any) -> None:
        if event.stage == "scan" and not done:
            done.append(event)
            make_again(filled, second, file)

    more = write_lines(*(document(n) for n in range(20, 40)), name="more.jsonl")
    with pytest.raises(ModelMismatch, match="embedding: words"):
        ingest_documents(filled, embedder, more, batch_documents=5, on_event=overtake)
    rows = filled.rows("SELECT title, text, embedding::real[] FROM chunks")
    assert len(rows) == 24
    right = second.embed_documents([f"{title}\n{text}" for title, text, _ in rows])
    assert np.allclose([vector for *_, vector in rows], right, atol=1e-3)
