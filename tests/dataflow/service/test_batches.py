"""Many questions in one request: what each finds alone, as lines and as Arrow."""

from __future__ import annotations

import json
import threading
import time
from contextlib import nullcontext
from io import BytesIO
from typing import Any

import anyio
import httpx2
import polars as pl
import pyarrow as pa
import pytest

from dataflow.service import tools
from dataflow.service.batches import AT_ONCE
from dataflow.service.routes import http_app
from dataflow.service.tools import Service
from operators.errors import CrosscorpusError
from operators.foundation.cancellation import Cancelled, check

QUERIES = [f"flush the cache, attempt {n}: word{n}" for n in range(AT_ONCE + 3)]
BATCH = {"queries": QUERIES, "top_k": 3, "corpora": ["history", "wiki"]}


def test_a_batch_finds_what_each_question_finds_alone(
    client: httpx2.Client, service: Service
) -> None:
    answer = client.post("/api/batch", json=BATCH)
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["query_id"] for row in rows] == list(range(len(QUERIES)))
    for number in (0, 7, AT_ONCE, AT_ONCE + 2):
        alone = tools.search(service, QUERIES[number], corpora=["history", "wiki"], top_k=3)
        told = [(hit["id"], hit["title"]) for hit in rows[number]["results"]]
        assert told == [(hit.id, hit.title) for hit in alone.results]
        assert rows[number]["notes"] == alone.notes
    assert {row["error"] for row in rows} == {None}
    assert rows[0]["results"][0]["url"].startswith("http://127.0.0.1:1/p/history:")


def test_arrow_has_the_rows_that_the_lines_have(client: httpx2.Client) -> None:
    lines = client.post("/api/batch", json=BATCH).text
    answer = client.post("/api/batch", json={**BATCH, "format": "arrow"})
    table = pa.ipc.open_stream(BytesIO(answer.content)).read_all()
    frame = pl.DataFrame(table)
    assert frame.height == len(QUERIES)
    assert frame.to_dicts() == [json.loads(line) for line in lines.splitlines()]


@pytest.mark.parametrize(
    ("asked", "status", "says"),
    [
        ({"queries": []}, 422, "at least 1"),
        ({"queries": ["x"] * 1_001}, 422, "at most 1000"),
        ({"queries": ["x", " "]}, 422, "empty"),
        ({"queries": ["x"], "corpora": ["cod"]}, 404, "did you mean 'code'"),
        ({"queries": ["x"], "repos": ["org/ap"]}, 404, "org/app"),
        ({"queries": ["x"], "format": "csv"}, 422, "ndjson"),
    ],
)
def test_a_fault_of_a_batch_is_an_error_before_the_stream(
    client: httpx2.Client, asked: dict[str, object], status: int, says: str
) -> None:
    answer = client.post("/api/batch", json=asked)
    assert (answer.status_code, says in answer.text) == (status, True), answer.text


@pytest.mark.parametrize("format", ["ndjson", "arrow"])
def test_a_question_without_an_answer_in_time_says_so_and_the_others_have_theirs(
    service: Service, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    stopped, execute = threading.Semaphore(0), service.driver.execute

    def slowly(wanted: Any, given: Any, instead: Any) -> Any:
        asked = " ".join(instead["queries"]["text"])
        if "broken" in asked:
            raise CrosscorpusError("this one can not be asked")
        try:
            while "slow" in asked:
                check()
                time.sleep(0.01)
        except Cancelled:
            stopped.release()
            raise
        return execute(wanted, given, instead)

    monkeypatch.setattr(service.driver, "execute", slowly)
    queries = [*QUERIES]
    queries[2], queries[AT_ONCE + 1] = "slow", "broken"
    app = http_app(lambda: nullcontext(service), "1", seconds=2)

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = {**BATCH, "queries": queries, "format": format}
            return await client.post("/api/batch", json=asked, timeout=60)

    answer = anyio.run(ask)
    assert answer.status_code == 200
    if format == "arrow":
        rows = pl.DataFrame(pa.ipc.open_stream(BytesIO(answer.content)).read_all()).to_dicts()
    else:
        rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["query_id"] for row in rows] == list(range(len(queries)))
    errors = {row["query_id"]: row["error"] for row in rows if row["error"]}
    late = "no answer within 2 s: ask less at once, or later"
    assert errors == {2: late, AT_ONCE + 1: "this one can not be asked"}
    for row in rows:
        assert bool(row["results"]) is (row["query_id"] not in errors)
    assert stopped.acquire(timeout=5)  # with the others of its run
    assert stopped.acquire(timeout=5)  # alone
