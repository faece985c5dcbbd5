"""Spans of real questions on a real server, taken by OpenTelemetry's own SDK."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from operators.errors import SearchError
from operators.postgres.errors import DatabaseError
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store

SECRET = "zanzibar"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
STATUS = trace.StatusCode


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What this process sends while a test runs."""
    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield kept
    provider.shutdown()


def told(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {one.name: one for one in spans.get_finished_spans()}


def test_a_question_is_a_span_with_one_of_each_search_and_stage(
    driver: Any, spans: InMemorySpanExporter
) -> None:
    before = time.time_ns()
    answer = driver.ask("why is the cache flushed?", top_k=2)
    after, found = time.time_ns(), told(spans)
    root = found.pop("retrieval driver-tests")
    searched = [corpus for corpus, of in answer.provenance["searched"].items() if "text" in of]
    kinds = {f"search {corpus} {kind}" for corpus in searched for kind in ("vector", "text")}
    absent = [
        c for c, of in answer.provenance["searched"].items() if set(of.values()) == {"absent"}
    ]
    kinds -= {f"search {corpus} {kind}" for corpus in absent for kind in ("vector", "text")}
    assert {"search code text", "search wiki vector"} <= kinds
    assert set(found) == kinds | {"embedding", "read chunks", "fusion", "rerank", "packing"}
    about = dict(root.attributes or {})
    assert about["gen_ai.operation.name"] == "retrieval"
    assert about["gen_ai.data_source.id"] == "driver-tests"
    assert about["gen_ai.request.model"] == "words"
    assert about["gen_ai.retrieval.top_k"] == 2
    assert about["crosscorpus.results"] == len(answer) == 2
    assert about["crosscorpus.queries"] == 1
    assert set(about["crosscorpus.corpora"]) == set(driver.config.corpora)
    assert (root.kind, root.parent, root.status.status_code) == (
        trace.SpanKind.CLIENT,
        None,
        STATUS.UNSET,
    )
    for name, one in found.items():
        assert one.parent is not None
        assert one.parent.span_id == root.context.span_id
        assert before - 1_000_000 <= one.start_time <= one.end_time <= after + 1_000_000, name
    hits = found["search code text"].attributes["crosscorpus.hits"]
    assert hits == answer.provenance["counts"]["corpora"]["code"]["text"] == 1
    for first, then in (("embedding", "fusion"), ("search code text", "fusion")):
        assert found[first].end_time <= found[then].start_time + 1_000_000
    assert found["fusion"].end_time <= found["packing"].end_time


def test_no_text_is_in_a_span_unless_it_is_asked_for(
    driver: Any, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(store: Store, corpus: str, *given: Any, **options: Any) -> pl.DataFrame:
        raise DatabaseError("gone", f"no {SECRET}")

    driver.ask(f"cache {SECRET}")
    monkeypatch.setattr("dataflow.retrieval.corpus.bm25_search", broken)
    driver.ask(f"cache {SECRET}")
    monkeypatch.setattr("dataflow.retrieval.corpus.search_vectors", broken)
    with pytest.raises(SearchError):
        driver.ask(f"cache {SECRET}")
    everything = "".join(one.to_json() for one in spans.get_finished_spans())
    assert "retrieval driver-tests" in everything
    assert SECRET not in everything
    monkeypatch.undo()


@pytest.mark.parametrize(("asked", "shown"), [("SPAN_ONLY", True), ("event_only", False)])
def test_the_conventions_variable_asks_for_the_questions_text(
    driver: Any,
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    shown: bool,
) -> None:
    monkeypatch.setenv(CAPTURE, asked)
    driver.ask("cache flush")
    about = told(spans)["retrieval driver-tests"].attributes or {}
    assert about.get("gen_ai.retrieval.query.text") == ("cache flush" if shown else None)


def test_a_search_that_fails_is_an_error_of_its_own_span_alone(
    driver: Any, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(store: Store, corpus: str, *given: Any, **options: Any) -> pl.DataFrame:
        if corpus == "wiki":
            raise DatabaseError("gone", "it is away")
        return bm25_search(store, corpus, *given, **options)

    monkeypatch.setattr("dataflow.retrieval.corpus.bm25_search", broken)
    assert driver.ask("why is the cache flushed?").passages
    wrong = [one for one in spans.get_finished_spans() if one.status.status_code is STATUS.ERROR]
    assert [one.name for one in wrong] == ["search wiki text"]
    assert (wrong[0].attributes or {})["error.type"] == "DatabaseError"
    assert wrong[0].status.description is None
    assert not wrong[0].events


def test_the_callers_span_is_the_parent_on_a_thread_and_in_a_coroutine(
    driver: Any, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("app").start_as_current_span("app") as app:
        driver.ask("cache")
        asyncio.run(driver.aask("flush"))
    roots = [one for one in spans.get_finished_spans() if one.name.startswith("retrieval")]
    assert [one.parent.span_id for one in roots if one.parent] == [
        app.get_span_context().span_id
    ] * 2
