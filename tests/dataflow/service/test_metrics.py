"""What a scrape tells, of a real server with a real collection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx2
import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dataflow.service import metrics as module
from dataflow.service.metrics import Metrics
from dataflow.service.tools import Service, search
from operators.postgres.errors import DatabaseError
from operators.postgres.inspect.status import status
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store

SECRET = "zanzibar"


def told(text: str) -> dict[tuple[str, ...], float]:
    """Each sample's value by its name and the values of its labels, sorted by label."""
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, *one.labels.values()): one.value for one in samples}


def scraped(metrics: Metrics, service: Service) -> dict[tuple[str, ...], float]:
    return told(metrics.scrape(service.driver.homes).decode())


def test_a_scrape_tells_how_questions_went(client: httpx2.Client) -> None:
    before = told(client.get("/metrics").text)
    client.post("/api/search", json={"query": f"cache {SECRET}"})
    client.post("/api/search", json={"query": SECRET, "corpora": ["cod"]})
    client.post("/api/get_context", json={"query": "cache"})
    answer = client.get("/metrics")
    after = told(answer.text)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    asked = {key: after[key] - before.get(key, 0) for key in after}
    assert asked["crosscorpus_questions_total", "ok", "search"] == 1
    assert asked["crosscorpus_questions_total", "UnknownName", "search"] == 1
    assert asked["crosscorpus_questions_total", "ok", "get_context"] == 1
    assert asked["crosscorpus_question_seconds_count", "search"] == 2
    for stage in ("search", "fusion", "context"):
        assert asked["crosscorpus_stage_seconds_count", stage] == 2
        assert asked["crosscorpus_stage_seconds_sum", stage] > 0
    assert SECRET not in answer.text


def test_the_stages_of_an_explanation_count_too(client: httpx2.Client) -> None:
    before = told(client.get("/metrics").text)
    assert client.post("/api/explain", json={"query": "cache"}).json()["passages"]
    after = told(client.get("/metrics").text)
    for stage in ("search", "fusion", "explanation"):
        key = "crosscorpus_stage_seconds_count", stage
        assert after[key] - before.get(key, 0) == 1


def test_a_scrape_tells_what_the_collection_holds(client: httpx2.Client, service: Service) -> None:
    found = told(client.get("/metrics").text)
    assert found["crosscorpus_database_up",] == 1
    assert found["crosscorpus_documents", "history"] == 46  # with the commit
    assert found["crosscorpus_chunks", "history"] >= 45
    assert found["crosscorpus_failed_documents", "wiki"] == 0
    assert found["crosscorpus_missing_vectors", "docs"] == 0
    ages = [value for key, value in found.items() if key[0] == "crosscorpus_source_age_seconds"]
    assert len(ages) == 2
    assert all(0 <= age < 3600 for age in ages)


def test_a_search_that_fails_is_counted_by_its_corpus(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = replace(service, metrics=Metrics())
    errors = iter([DatabaseError("gone", f"no {SECRET}"), TimeoutError(SECRET)])

    def broken(store: Store, corpus: str, *given: Any, **options: Any) -> pl.DataFrame:
        if corpus == "wiki":
            raise next(errors)
        return bm25_search(store, corpus, *given, **options)

    monkeypatch.setattr("dataflow.retrieval.corpus.bm25_search", broken)
    for _ in range(2):
        assert search(counted, "cache").results
    text = counted.metrics.scrape(service.driver.homes).decode()
    found = told(text)
    assert found["crosscorpus_failed_searches_total", "wiki", "text", "failed"] == 1
    assert found["crosscorpus_failed_searches_total", "wiki", "text", "timed_out"] == 1
    assert SECRET not in text


def test_while_the_database_is_away_the_counters_are_told(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = Metrics()
    with pytest.raises(KeyboardInterrupt), metrics.question("search"):
        raise KeyboardInterrupt

    def away(store: Store) -> pl.DataFrame:
        raise DatabaseError("gone", "it is away")

    monkeypatch.setattr(module, "FRESH_S", 0.0)
    monkeypatch.setattr(module, "status", away)
    found = scraped(metrics, service)
    assert found["crosscorpus_database_up",] == 0
    assert found["crosscorpus_questions_total", "KeyboardInterrupt", "search"] == 1
    monkeypatch.undo()
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    assert scraped(metrics, service)["crosscorpus_database_up",] == 1


def test_the_collection_is_read_once_for_scrapes_that_follow_each_other(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics, read = Metrics(), list[Store]()

    def counted(store: Store) -> pl.DataFrame:
        read.append(store)
        return status(store)

    monkeypatch.setattr(module, "status", counted)
    for _ in range(3):
        scraped(metrics, service)
    assert len(read) == 1


def test_a_corpus_that_is_gone_is_told_no_more(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = Metrics()
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    assert ("crosscorpus_chunks", "wiki") in scraped(metrics, service)
    rest = status(service.store).filter(pl.col("corpus") != "wiki")
    monkeypatch.setattr(module, "status", lambda store: rest)
    found = scraped(metrics, service)
    assert ("crosscorpus_chunks", "wiki") not in found
    assert ("crosscorpus_chunks", "docs") in found


def test_the_questions_of_a_batch_count_each(client: httpx2.Client) -> None:
    asked = ("crosscorpus_questions_total", "ok", "batch")
    runs = ("crosscorpus_stage_seconds_count", "fusion")
    before = told(client.get("/metrics").text)
    client.post("/api/batch", json={"queries": ["cache", "merge", "queue"]}).raise_for_status()
    after = told(client.get("/metrics").text)
    assert after[asked] - before.get(asked, 0) == 3
    assert after[runs] - before.get(runs, 0) == 1
