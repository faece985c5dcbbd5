"""The examples of the graph's openness do what they say, on a real server."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.embedding.protocol import Embedder
from operators.postgres.store import Store, drop_collection, open_store
from operators.ranking.total_order import ranked

EXAMPLES = Path(__file__).parents[1] / "examples"
CONFIGS = sorted(EXAMPLES.glob("*.yaml"))
QUERY = "why does CacheStore.flush write max_age twice?"
HYBRID = EXAMPLES / "hybrid_search.py"

each = pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)


@pytest.fixture(scope="module")
def filled(server_dsn: str, minilm: Embedder, tmp_path_factory: Any) -> Iterator[Store]:
    long = [f"Step {n}: the cache is flushed and written again, generation {n}." for n in range(90)]
    texts = [
        ("docs", "flushing.md", "# Flushing\n\n" + "\n".join(long)),
        (
            "code",
            "store.py",
            "class CacheStore:\n    def flush(self):\n        write(self.max_age)",
        ),
        ("code", "other.py", "def flush_cache(): write the age twice, why not flush it twice"),
        ("wiki", "Caching", "why the cache is flushed twice: it keeps two generations"),
    ]
    rows = [{"doc_id": d, "corpus": c, "path": d, "title": d, "text": t} for c, d, t in texts]
    file = tmp_path_factory.mktemp("examples") / "documents.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    with open_store(server_dsn, "worked-examples", create=True) as store:
        ingest_documents(store, minilm, file)
        yield store
    drop_collection(server_dsn, "worked-examples")


@pytest.fixture
def driver_of(filled: Store, minilm: Embedder) -> Callable[..., RetrievalDriver]:
    def built(config: str | Path, **parameters: Any) -> RetrievalDriver:
        changed = load_config(config).with_changes({"parameters": parameters})
        return build_driver(changed, store=filled, embedder=minilm)

    return built


@each
def test_an_example_answers_in_a_total_order_and_a_batch_as_single_questions(
    driver_of: Callable[..., RetrievalDriver], file: Path
) -> None:
    texts = [QUERY, "generation 7", "caching"]
    with driver_of(file) as driver:
        single = [driver.execute(["unique", "explain"], {"query": text}) for text in texts]
        asked = pl.DataFrame({"query_id": [1, 2, 3], "text": texts})
        batch = driver.execute(["unique"], overrides={"queries": asked})["unique"]
        told = driver.execute(["provenance"], {"query": QUERY})["provenance"]
    for number, out in enumerate(single, start=1):
        found, same = out["unique"].drop("query_id"), batch.filter(query_id=number)
        assert found.equals(same.drop("query_id"))
        assert found["rank"].to_list() == [*range(found.height)]
        again = ranked(out["unique"].reverse(), out["unique"]["score"].to_numpy()[::-1])
        assert again["chunk_id"].to_list() == found["chunk_id"].to_list()
        assert out["explain"].height
    assert list(told["modules"]) == [f"{file.stem}.py"]


def test_a_named_class_comes_first_on_a_real_collection(
    driver_of: Callable[..., RetrievalDriver],
) -> None:
    file = EXAMPLES / "identifier_reranker.yaml"
    with driver_of(file, identifier_boost=5.0) as driver:
        found = driver.execute(["results", "weighted"], {"query": QUERY})
    assert found["results"]["document_id"][0] == "store.py"
    before = found["weighted"].filter(document_id="store.py")["score"]
    after = found["results"].filter(document_id="store.py")["score"]
    assert np.allclose(after / before, 6.0)


def test_a_filter_as_a_variant_of_reranked_counts_in_results_context_and_citations(
    driver_of: Callable[..., RetrievalDriver],
) -> None:
    frames = ["ranked", "results", "context_window", "citations"]
    with driver_of(EXAMPLES / "recent.yaml") as driver:
        every = driver.execute(frames, {"query": QUERY})
        old = pl.col("document_id") == "store.py"
        date = pl.when(old).then(datetime(2001, 1, 1, tzinfo=UTC)).otherwise("created_at")
        dated = every["ranked"].with_columns(created_at=date)
        kept = driver.execute(frames, {"query": QUERY}, overrides={"ranked": dated})
    for out, there in ((every, True), (kept, False)):
        assert ("store.py" in out["results"]["document_id"]) is there
        assert ("self.max_age" in out["context_window"]["text"][0]) is there
        assert any("store.py" in label for label in out["citations"]["source_label"]) is there


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("question", ["why is the cache flushed twice?", ""])
def test_the_plain_graph_prints_the_three_best_for_any_question(
    question: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(HYBRID), question])
    runpy.run_path(str(HYBRID), run_name="__main__")
    told = capfd.readouterr()
    assert told.err == ""
    assert [line[:3] for line in told.out.splitlines()] == ["1. ", "2. ", "3. "]
    if question.startswith("why"):
        assert "ask.md: ## Several texts for one question\n" in told.out  # it quotes the question
    monkeypatch.setattr(sys, "argv", [str(HYBRID)])
    with pytest.raises(SystemExit, match=r"^give one question: "):
        runpy.run_path(str(HYBRID), run_name="__main__")
