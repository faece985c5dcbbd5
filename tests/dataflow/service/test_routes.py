"""The tools over HTTP, asked by a real client of a real server."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import anyio
import httpx2
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from dataflow.service.mcp_server import served
from dataflow.service.routes import http_app
from dataflow.service.tools import Service, status
from operators.postgres.errors import DatabaseError


def test_an_app_asks_as_an_agent_does(client: httpx2.Client, service: Service) -> None:
    found = client.post("/api/search", json={"query": "cache", "corpora": ["code"]}).json()
    assert found["results"][0]["title"].startswith("[code: org/app/src/a.py")
    text = client.post("/api/fetch", json={"id": found["results"][0]["id"]}).json()
    assert "def step_" in text["text"]
    page = found["results"][0]["url"].removeprefix("http://127.0.0.1:1")
    assert client.get(page).text == text["text"]
    assert client.get("/healthz").json() == {"status": "ok", "pid": os.getpid()}
    assert client.get("/readyz").json() == {"status": "ok"}
    described = client.get("/openapi.json").json()["paths"]
    assert {"/api/search", "/api/get_context", "/api/status"} <= set(described)


def test_the_log_is_told_where_the_database_is_and_no_caller(
    client: httpx2.Client, service: Service, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def away(*_: object, **__: object) -> None:
        raise DatabaseError("gone", "no answer of database team at db.example.org")

    for name in ("service.routes.collection_info", "service.tools.read_status"):
        monkeypatch.setattr(f"dataflow.{name}", away)
    monkeypatch.setattr("dataflow.retrieval.corpus.bm25_search", away)
    asked = [client.get("/readyz"), client.post("/api/status", json={})]
    asked.append(client.post("/api/search", json={"query": "cache"}))
    assert [one.status_code for one in asked] == [503, 503, 200]
    with pytest.raises(ToolError) as failed:
        anyio.run(served(status, lambda: nullcontext(service), 30))
    for text in (str(failed.value), *(one.text for one in asked)):
        assert "the collection does not answer: gone" in text
        assert "team" not in text
    assert caplog.text.count("database team at db.example.org") == 1  # of many faults


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("search", {"query": "x", "corpora": ["cod"]}, 404, "did you mean 'code'"),
        ("search", {"query": "x", "cursor": "zz"}, 422, "leave it out"),
        ("fetch", {"id": f"code:{2**63}"}, 404, "no passage"),
        ("explain", {"query": "x", "passages": [f"code:{2**63}"]}, 404, "no chunk or document"),
        ("serach", {"query": "x"}, 404, "did you mean 'search'"),
    ],
)
def test_a_fault_of_the_request_has_its_status_and_its_reason(
    client: httpx2.Client, path: str, body: dict[str, object], status: int, says: str
) -> None:
    answer = client.post(f"/api/{path}", json=body)
    assert (answer.status_code, says in answer.text) == (status, True), answer.text


ODD = [
    *(
        ("search", {"query": "x", name: "a\0"})
        for name in ("path", "language", "version", "cursor")
    ),
    *(("search", {"query": "x", name: ["a\0"]}) for name in ("corpora", "repos")),
    *(("versions", {"document": "x", name: "a\0"}) for name in ("older", "newer")),
    ("search", {"query": "a\0"}),
    ("versions", {"document": "a\0"}),
    ("fetch", {"id": "a\0"}),
    ("neighbours", {"id": "a\0"}),
    ("explain", {"query": "x", "passages": ["a\0"]}),
]


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
def test_a_text_that_postgres_can_not_take_is_a_fault_of_the_request(
    client: httpx2.Client, odd: str
) -> None:
    headers = {"content-type": "application/json"}
    for path, body in ODD:
        sent = json.dumps(body).replace("\\u0000", json.dumps(odd)[1:-1])
        answer = client.post(f"/api/{path}", content=sent, headers=headers)
        assert answer.status_code == 422, (body, answer.text)
        assert "NUL" in answer.json()["detail"] or "unicode" in answer.json()["detail"]


def test_a_passages_address_that_can_be_none_is_not_found(client: httpx2.Client) -> None:
    for id in (f"code:{2**63}", f"code:-{'9' * 19}", "code:%00", "code:%ED%A0%80", "%FF"):
        assert client.get(f"/p/{id}").status_code == 404, id


def test_a_body_without_its_content_type_is_told_the_header(client: httpx2.Client) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}  # as `curl -d` sends it
    answer = client.post("/api/search", content=b'{"query": "step"}', headers=headers)
    assert (answer.status_code, "content-type: application/json" in answer.text) == (422, True)


def test_another_method_is_told_the_right_one(client: httpx2.Client) -> None:
    answer = client.get("/api/search", params={"query": "step"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"detail": "GET is not for this address: send POST with a JSON object"}


def test_a_body_that_is_no_request_is_refused(client: httpx2.Client) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for body in (b"", b"{", b"\xff", deep.encode(), json.dumps([1]).encode()):
        headers = {"content-type": "application/json"}
        assert client.post("/api/search", content=body, headers=headers).status_code in (400, 422)
    large = {"query": "x" * 2_000_000}
    assert client.post("/api/search", json=large).status_code == 413
    endless = client.post("/api/search", content=(b"x" for _ in range(3)))
    assert endless.status_code == 413
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("on_corpus_error", "status", "says"),
    [("raise", 504, (" 0.5 s",)), ("skip", 503, ("every search failed", "wiki chunks"))],
)
def test_a_search_past_its_deadline_is_no_fault_of_the_request(
    slow: Callable[[str], AbstractContextManager[Service]],
    on_corpus_error: str,
    status: int,
    says: tuple[str, ...],
) -> None:
    async def ask(service: Service) -> httpx2.Response:
        app = http_app(lambda: nullcontext(service), "1")
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/api/search", json={"query": "cache"}, timeout=60)

    with slow(on_corpus_error) as service:
        answer = anyio.run(ask, service)
    assert answer.status_code == status, answer.text
    assert all(part in answer.json()["detail"] for part in says), answer.text
