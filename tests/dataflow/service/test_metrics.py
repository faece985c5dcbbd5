"""What a scrape tells of a real server and collection, and which sources an answer tells of."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dataflow.service import metrics as module
from dataflow.service.freshness import MOST, read_again, sources_of
from dataflow.service.metrics import Metrics
from dataflow.service.tools import Service, search
from operators.postgres.errors import DatabaseError
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store
from operators.postgres.write.ingestion_runs import begin_run

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


def test_a_team_of_many_repositories_gets_a_short_list(service: Service) -> None:
    for n in range(MOST + 5):
        begin_run(service.store, f"git/9 org/many-{n:02d}", ["issue"])
    homes = service.driver.homes
    assert len(sources_of(homes, [("issue", None)])) == MOST
    (one,) = sources_of(homes, [("issue", "org/many-07"), ("code", "org/none")])
    assert (one.source, one.state) == ("git/9 org/many-07", "unfinished")
    service.store.execute("DELETE FROM runs WHERE source LIKE %s", ("git/9 %",))


def test_a_command_that_fails_is_told_and_the_answer_says_what_was_not_read(
    service: Service, app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    homes, file = service.driver.homes, app / "src" / "a.py"
    (known,) = sources_of(homes, [("code", "org/app")])
    before = file.read_text()
    file.write_text("changed")
    time.sleep(1.1)  # what was seen of the folder is kept for a second
    for command in (["/nowhere", "ingest"], [str(app), "ingest", "nonsense"]):
        of = (command, known.source)
        service.store.execute("UPDATE runs SET command = %s WHERE source = %s", of)
        read_again(homes)
        assert f"{known.source} was not read again" in capsys.readouterr().err
        assert sources_of(homes, [("code", "org/app")])[0].since == "changed files: 1"
    service.store.execute("UPDATE runs SET command = NULL")
    file.write_text(before)


@pytest.mark.parametrize("arguments", [["drop", "--yes"], ["collections", "list"], [], ["-c", "x"]])
def test_a_record_of_another_command_than_an_ingestion_is_not_run(
    service: Service, app: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    homes, file = service.driver.homes, app / "src" / "a.py"
    before = file.read_text()
    file.write_text("changed")
    service.store.execute("UPDATE runs SET command = %s", ([str(app), *arguments],))
    try:
        read_again(homes)
        assert capsys.readouterr().err == ""
    finally:
        service.store.execute("UPDATE runs SET command = NULL")
        file.write_text(before)
