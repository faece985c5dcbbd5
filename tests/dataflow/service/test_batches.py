"""Many questions in one request: what each finds alone, as lines and as Arrow."""

from __future__ import annotations

import json
from io import BytesIO

import httpx2
import polars as pl
import pyarrow as pa
import pytest

from dataflow.service import tools
from dataflow.service.batches import AT_ONCE
from dataflow.service.tools import Service

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
