"""The tools over MCP, asked by the official client."""

from __future__ import annotations

import base64
import json
import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
from ingesting import ingest_documents
from mcp.client import Client
from word_embedder import WordEmbedder

from dataflow import build_driver, load_config
from dataflow.service.mcp_server import SENT, mcp_server
from dataflow.service.tools import Service
from operators.context.token_counts import token_measure
from operators.postgres.store import drop_collection, open_store


def asked(service: Service, work: Any) -> Any:
    async def run() -> Any:
        async with Client(mcp_server(lambda: nullcontext(service), "1")) as client:
            return await work(client)

    return anyio.run(run)


def test_nine_read_only_tools_take_few_tokens(service: Service, minilm: Any) -> None:
    listed = asked(service, lambda client: client.list_tools()).tools
    names = ["search", "fetch", "get_context", "grep", "history", "review_context"]
    names += ["explain", "versions", "status"]
    assert [one.name for one in listed] == names
    assert all(one.annotations.read_only_hint for one in listed)
    assert all(one.output_schema for one in listed)
    told = [f"{one.name} {one.description} {json.dumps(one.input_schema)}" for one in listed]
    # of JSON, word-pieces are half as many again as the tokens of a model that reads it
    assert sum(minilm.count_tokens(told)) < 1.5 * 1_400
    assert "only `query` required" not in told
    assert listed[0].input_schema["required"] == ["query"]


def test_the_text_of_an_answer_is_its_structure(service: Service) -> None:
    calls = [
        ("search", {"query": "cache"}),
        ("get_context", {"query": "cache"}),
        ("versions", {}),
        ("status", {}),
    ]
    for name, given in calls:
        found = asked(service, lambda client, n=name, g=given: client.call_tool(n, g))
        assert not found.is_error
        (text,) = found.content
        assert json.loads(text.text) == found.structured_content
        assert not {"next_cursor", "citations"} & found.structured_content.keys()
        assert "not ingested" not in text.text


def test_the_one_agent_of_a_session_gets_a_snippet_once(service: Service) -> None:
    async def snippets(**how: Any) -> list[list[str]]:
        async with Client(mcp_server(lambda: nullcontext(service), "1", **how)) as client:
            given = {"query": "cache", "top_k": 3}
            asked = [given, given, {**given, "brief": False}]
            found = [await client.call_tool("search", one) for one in asked]
        return [[hit["snippet"] for hit in one.structured_content["results"]] for one in found]

    once, again, whole = anyio.run(lambda: snippets(one_agent=True))
    assert SENT not in [*once, *whole]
    assert set(again) == {SENT}
    once, again, _ = anyio.run(snippets)
    assert once == again


def test_the_one_agent_of_a_session_gets_a_passage_of_a_context_once(service: Service) -> None:
    async def contexts() -> list[str]:
        async with Client(mcp_server(lambda: nullcontext(service), "1", one_agent=True)) as client:
            asked = [{"query": "cache"}, {"query": "cache"}, {"query": "cache", "brief": False}]
            found = [await client.call_tool("get_context", one) for one in asked]
        return [one.structured_content["text"] for one in found]

    once, again, whole = anyio.run(contexts)
    headers = [line for line in once.splitlines() if line.startswith("=== ")]
    assert again.splitlines()[: 2 * len(headers) : 3] == headers
    assert again.count(SENT) == len(headers)
    assert SENT not in once + whole


def test_a_fault_of_the_call_is_an_error_that_says_what_to_do(service: Service) -> None:
    def said(name: str, **given: Any) -> str:
        found = asked(service, lambda client: client.call_tool(name, given))
        assert found.is_error
        return str(found.content[0].text)

    assert "did you mean 'code'" in said("search", query="x", corpora=["cod"])
    assert said("search") == "query: Field required"
    assert said("search", query="x", top_k=0).startswith("top_k: Input should be greater")
    assert "did you mean 'corpora'" in said("search", query="x", corpus=["code"])
    assert "no passage" in said("fetch", id="x")


def test_the_corpora_are_a_resource(service: Service) -> None:
    found = asked(service, lambda client: client.read_resource("crosscorpus://corpora"))
    held = json.loads(found.contents[0].text)
    assert {one["corpus"] for one in held["corpora"]} == {"code", "wiki", "docs", "history"}


def test_no_answer_has_more_than_10000_tokens_and_pages_of_a_text_lose_nothing(
    server_dsn: str, tmp_path: Path, minilm: Any
) -> None:
    """By the vocabulary of o200k where it is on disk, else by word-pieces."""
    dice = random.Random(3)
    lines = {
        "chinese": lambda: "".join(map(chr, dice.choices(range(0x4E00, 0x9FA5), k=60))),
        "base64": lambda: base64.b64encode(dice.randbytes(57)).decode(),
    }
    texts = {name: "\n\n".join(line() for _ in range(260)) for name, line in lines.items()}
    rows = [
        {"doc_id": f"{name}{n}", "corpus": "docs", "path": f"{n}.0/{name}{'文' * 80} 1.txt"}
        | {"version": f"{n}.0", "text": text[:: 2 * n - 3]}
        for name, text in texts.items()
        for n in (1, 2)
    ]
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    variants = {"packed": "tokens", "relevant_hits": "off"}
    config = load_config("default").with_changes({"variants": variants})
    embedder, count = WordEmbedder(), token_measure(minilm.count_tokens)
    embedder.count_tokens = minilm.count_tokens  # type: ignore[method-assign]
    embedder.max_tokens = 256

    def told(service: Service, name: str, **given: Any) -> Any:
        answer = asked(service, lambda client: client.call_tool(name, given))
        assert not answer.is_error, answer.content
        assert count([answer.content[0].text])[0] < 10_000, (name, given)
        return answer.structured_content

    with open_store(server_dsn, "service-tests-long", create=True) as store:
        ingest_documents(store, embedder, file)
        with build_driver(config, store=store, embedder=embedder) as driver:
            service = Service(driver, store)
            for name, text in texts.items():
                query, path = text.split()[7], f"2.0/{name}{'文' * 80} 1.txt"
                (hit, *_) = told(service, "search", query=query, top_k=20, path=path, brief=False)[
                    "results"
                ]
                assert hit["url"] == "file:" + path.replace(" ", "%20")
                for most, cut in ((7_000, True), (2_000, False)):
                    context = told(
                        service, "get_context", query=query, max_tokens=most, brief=False
                    )
                    assert context["citations"]
                    assert ("links had no room" in " ".join(context["notes"])) is cut
                told(service, "explain", query=query)
                told(service, "versions", document=path, older="1.0", newer="2.0")
                pages, cursor = list[str](), None
                while not pages or cursor:
                    page = told(service, "fetch", id=hit["id"], version="2.0", cursor=cursor)
                    pages.append(page["text"])
                    cursor = page.get("next_cursor")
                assert "".join(pages) == text
                assert len(pages) > 1
    drop_collection(server_dsn, "service-tests-long")
