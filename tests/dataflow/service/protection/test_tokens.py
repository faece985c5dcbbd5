"""Tokens: who has one sees what he may, and nobody else is told anything."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from ingesting import ingest_documents
from starlette.responses import Response
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.ingestion import sources
from dataflow.ingestion.loop import ingest
from dataflow.ingestion.set_rights import set_rights
from dataflow.service.protection import sessions
from dataflow.service.protection.gate import Gate
from dataflow.service.protection.sessions import COOKIE, Sessions
from dataflow.service.protection.tokens import Tokens, new_token, token_line
from dataflow.service.routes import http_app
from dataflow.service.tools import AUDIT, Service
from operators.errors import CrosscorpusError
from operators.postgres.store import drop_collection, open_store

NAME = "tokens"


@pytest.fixture
def tokens(tmp_path: Path) -> tuple[Tokens, dict[str, str]]:
    held = {name: new_token() for name in ("ann", "bob", "late", "metrics")}
    days = {"late": "2020-01-01"}
    lines = [token_line(token, [name], days.get(name)) for name, token in held.items()]
    file = tmp_path / "tokens.yaml"
    file.write_text("\n".join(lines))
    return Tokens(file), held


@pytest.fixture(scope="module")
def service(server_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    file = tmp_path_factory.mktemp("tokens") / "documents.jsonl"
    rows = [
        {"doc_id": name, "corpus": "docs", "title": name, "allowed": [name]}
        | {"text": f"The cache of {name} is flushed."}
        for name in ("ann", "bob")
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    with open_store(server_dsn, NAME, create=True) as store:
        ingest_documents(store, WordEmbedder(), file)
        with build_driver("default", store=store, embedder=WordEmbedder()) as driver:
            yield Service(driver, store, "http://localhost/p")
    drop_collection(server_dsn, NAME)


def asked(
    service: Service,
    tokens: Tokens | None,
    headers: list[dict[str, str]],
    path: str = "/api/search",
) -> list[httpx2.Response]:
    """The replies to one question of each of several callers, who ask at once."""

    async def run() -> list[httpx2.Response]:
        app = http_app(lambda: nullcontext(service), "1", tokens=tokens)
        transport = httpx2.ASGITransport(app=app)
        replies: list[Any] = [None] * len(headers)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:

            async def ask(n: int) -> None:
                body: dict[str, Any] = {"query": "cache flushed"}
                if path == "/api/history":
                    body = {"place": "src/a.py"}
                replies[n] = (
                    await client.post(path, json=body, headers=headers[n])
                    if path.startswith("/api")
                    else await client.get(path, headers=headers[n])
                )

            async with anyio.create_task_group() as group:
                for n in range(len(headers)):
                    group.start_soon(ask, n)
        return replies

    return anyio.run(run)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_callers_who_ask_at_once_see_each_his_own(service: Service, tokens: Any) -> None:
    known, held = tokens
    names = ["ann", "bob"] * 8
    for name, reply in zip(
        names, asked(service, known, [bearer(held[name]) for name in names]), strict=True
    ):
        assert [one["title"] for one in reply.json()["results"]] == [f"[docs: {name}]"]


@pytest.mark.parametrize(
    "headers",
    [{}, bearer("cc_wrong"), {"authorization": "Basic YTpi"}, bearer(""), {"authorization": "x"}],
)
def test_without_a_token_of_the_file_nothing_is_told(
    service: Service, tokens: Any, headers: dict[str, str]
) -> None:
    paths = ["/api/search", "/api/status", "/p/docs:1", "/openapi.json"]
    for path in paths if headers == {} else paths[:1]:
        (reply,) = asked(service, tokens[0], [headers], path)
        assert reply.status_code == 401
        assert "oauth-protected-resource" in reply.headers["www-authenticate"]
        assert "ann" not in reply.text


def test_a_token_ends_with_its_day_and_with_its_line(service: Service, tokens: Any) -> None:
    known, held = tokens
    assert asked(service, known, [bearer(held["late"])])[0].status_code == 401
    assert known.caller(held["late"], datetime(2019, 12, 31, 23, tzinfo=UTC)) == ("late",)
    known.path.write_text(token_line(held["bob"], ["bob"]))
    assert [
        r.status_code for r in asked(service, known, [bearer(held[n]) for n in ("ann", "bob")])
    ] == [401, 200]
    known.path.write_text("no: list")
    assert asked(service, known, [bearer(held["bob"])])[0].status_code == 401


def test_without_tokens_a_caller_sees_what_everyone_may(service: Service) -> None:
    (reply,) = asked(service, None, [{}])
    assert reply.json()["results"] == []


def test_what_no_record_speaks_of_is_for_callers_without_tokens_until_others_have_rights(
    server_dsn: str, tokens: Any, tmp_path: Path
) -> None:
    known, held = tokens
    (tmp_path / "records.json").write_text('[{"path": "a.py", "text": "The cache is flushed."}]')
    (tmp_path / "pages.jsonl").write_text('{"doc_id": "p", "corpus": "docs", "text": "A cache."}')
    with (
        open_store(server_dsn, "imported", create=True) as store,
        build_driver("default", store=store, embedder=WordEmbedder()) as driver,
    ):
        ingest(store, WordEmbedder(), sources.records(tmp_path / "records.json", "memory"))
        ingest(store, WordEmbedder(), sources.documents(tmp_path / "pages.jsonl"))
        service = Service(driver, store, "http://localhost/p")

        def corpora(who: Tokens | None) -> list[str]:
            headers = {"authorization": f"Bearer {held['ann']}"}
            (reply,) = asked(service, who, [headers])
            return sorted(one["id"].partition(":")[0] for one in reply.json()["results"])

        assert (corpora(None), corpora(known)) == (["docs", "memory"], ["docs"])
        assert len(driver.ask("cache")) == 2
        assert [one.corpus for one in driver.ask("cache", principals=[])] == ["docs"]
        (tmp_path / "pages.jsonl").write_text(
            '{"doc_id": "q", "corpus": "docs", "text": "A cache.", "allowed": "everyone"}'
        )
        ingest(store, WordEmbedder(), sources.documents(tmp_path / "pages.jsonl"))
        assert (corpora(None), corpora(known)) == (["docs"], ["docs"])
        set_rights(store, "unmarked: everyone")
        assert corpora(None) == corpora(known) == ["docs", "memory"]
    drop_collection(server_dsn, "imported")


def test_numbers_of_all_callers_are_for_one_who_may_read_them(
    service: Service, tokens: Any
) -> None:
    known, held = tokens
    found = asked(service, known, [bearer(held[n]) for n in ("ann", "metrics")], "/metrics")
    assert [one.status_code for one in found] == [403, 200]


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/.well-known/oauth-protected-resource/mcp"]
)
def test_that_the_server_is_there_is_told_without_a_token(
    service: Service, tokens: Any, path: str
) -> None:
    (reply,) = asked(service, tokens[0], [{}], path)
    assert reply.status_code == 200
    if "well" in path:
        assert reply.json()["resource"] == "http://localhost/mcp"


def test_who_was_answered_is_on_record_and_not_what_was_asked(
    service: Service, tokens: Any, caplog: pytest.LogCaptureFixture
) -> None:
    known, held = tokens
    with caplog.at_level(logging.INFO, AUDIT.name):
        asked(service, known, [bearer(held["ann"]), {}])
    (line,) = [json.loads(one.message) for one in caplog.records if one.name == AUDIT.name]
    assert (line["caller"], line["tool"], line["results"]) == ("ann", "search", 1)
    assert "cache" not in json.dumps(line)
    assert held["ann"] not in json.dumps(line)


def test_a_history_and_a_page_are_put_on_record_too(
    service: Service, tokens: Any, caplog: pytest.LogCaptureFixture
) -> None:
    known, held = tokens
    ids: dict[str, str] = dict(
        service.store.rows("SELECT document_id, 'docs:' || chunk_id FROM chunks")
    )
    with caplog.at_level(logging.INFO, AUDIT.name):
        for path in ("/api/history", f"/p/{ids['ann']}", f"/p/{ids['bob']}"):
            asked(service, known, [bearer(held["ann"])], path)
    lines = [json.loads(one.message) for one in caplog.records if one.name == AUDIT.name]
    told = [(one["caller"], one["tool"], one["results"]) for one in lines]
    assert told == [("ann", "history", 0), ("ann", "passage", 1)]


@pytest.mark.parametrize(
    "text", ["{}", "- {sha256: ab, principals: ann}", "- {principals: ann}", "[", "- {sha: 1}"]
)
def test_a_file_of_tokens_that_nobody_can_read_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(CrosscorpusError, match=r"t\.yaml"):
        Tokens(tmp_path / "t.yaml")


@pytest.mark.parametrize(
    "principals", ["{ann: hr}", "5", "!!set {ann}", "2026-99-99", "!!binary YW5u", "[[ann]]"]
)
def test_a_file_with_odd_principals_lets_nobody_in(
    service: Service, tokens: Any, principals: str
) -> None:
    known, held = tokens
    line = f"[{{sha256: {'0' * 64}, principals: {principals}}}]"
    known.path.write_text(line)
    (reply,) = asked(service, known, [bearer(held["ann"])])
    assert reply.status_code == 401
    with pytest.raises(CrosscorpusError, match="token"):
        Tokens(known.path)


def test_a_file_that_is_replaced_by_one_of_the_same_size_and_time_is_read(tokens: Any) -> None:
    known, held = tokens
    assert known.caller(held["ann"]) == ("ann",)
    times = known.path.stat()
    other = known.path.with_name("other.yaml")
    other.write_text(known.path.read_text().replace("[ann]", "[eve]"))
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.rename(known.path)
    assert known.caller(held["ann"]) == ("eve",)


def test_a_person_signs_in_once_and_sees_what_he_may_until_he_signs_out(
    service: Service, tokens: Any
) -> None:
    known, held = tokens
    browser = {"accept": "text/html"}

    async def run() -> None:
        app = http_app(lambda: nullcontext(service), "1", tokens=known)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as page:

            async def titles() -> list[str]:
                found = await page.post("/api/search", json={"query": "cache flushed"})
                seen = found.json().get("results", [])
                return [one["title"] for one in seen] or [str(found.status_code)]

            for path in ("/", "/p/docs:1", "/static/page.js"):
                assert (await page.get(path, headers=browser)).status_code == 200
            nobody = {"caller": None, "needed": True, "organisation": None, "by_token": True}
            assert (await page.get("/session")).json() == nobody
            assert await titles() == ["401"]
            for token in ("", "cc_wrong", held["late"]):
                refused = await page.post("/session", json={"token": token})
                assert (refused.status_code, refused.headers.get("set-cookie")) == (401, None)
            done = await page.post("/session", json={"token": f" {held['ann']} "})
            cookie = done.headers["set-cookie"]
            assert {"HttpOnly", "SameSite=strict"} <= {*cookie.split("; ")}
            assert held["ann"] not in cookie
            assert (await page.get("/session")).json() == nobody | {"caller": "ann"}
            assert await titles() == ["[docs: ann]"]
            evil = {"origin": "https://evil.example"}
            sent = await page.post("/api/search", json={"query": "cache"}, headers=evil)
            assert sent.status_code == 403
            both = await page.get("/session", headers=bearer(held["bob"]))
            assert both.json()["caller"] == "bob"  # who says it in the request himself counts
            wrong = await page.get("/openapi.json", headers=bearer("cc_wrong"))
            assert wrong.status_code == 401
            secure = await page.post(
                "/session", json={"token": held["bob"]}, headers={"x-forwarded-proto": "https"}
            )
            assert "Secure" in secure.headers["set-cookie"]
            assert (await page.delete("/session")).status_code == 204
            assert await titles() == ["401"]

    anyio.run(run)


def test_a_session_ends_with_its_token_and_its_time(
    service: Service, tokens: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, held = tokens
    all_of_it = Sessions()
    name = all_of_it.begin(held["ann"])
    cookie = {"cookie": f"{COOKIE}={name}"}

    def who() -> int:
        async def run() -> int:
            gate = Gate(Response("told"), {"localhost"}, tokens=known, sessions=all_of_it)
            transport = httpx2.ASGITransport(app=gate)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as one:
                return (await one.get("/openapi.json", headers=cookie)).status_code

        return anyio.run(run)

    assert who() == 200
    known.path.write_text("[]")
    assert who() == 401
    monkeypatch.setattr(sessions, "MOST", 2)
    names = [all_of_it.begin(str(n)) for n in range(3)]
    assert [all_of_it.holder(one) for one in names] == ["", "1", "2"]
    later = time.monotonic() + sessions.HOURS * 3600 + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert all_of_it.holder(names[2]) == ""
