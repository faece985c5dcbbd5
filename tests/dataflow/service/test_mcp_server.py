"""The tools over MCP, asked by the official client."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import anyio
from mcp.client import Client

from dataflow.service.mcp_server import mcp_server
from dataflow.service.tools import Service


def asked(service: Service, work: Any) -> Any:
    async def run() -> Any:
        async with Client(mcp_server(lambda: nullcontext(service), "1")) as client:
            return await work(client)

    return anyio.run(run)


def test_six_read_only_tools_take_few_tokens(service: Service, minilm: Any) -> None:
    listed = asked(service, lambda client: client.list_tools()).tools
    names = ["search", "fetch", "get_context", "explain", "versions", "status"]
    assert [one.name for one in listed] == names
    assert all(one.annotations.read_only_hint for one in listed)
    assert all(one.output_schema for one in listed)
    told = [f"{one.name} {one.description} {json.dumps(one.input_schema)}" for one in listed]
    # of JSON, word-pieces are half as many again as the tokens of a model that reads it
    assert sum(minilm.count_tokens(told)) < 1.5 * 1_500
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


def test_a_fault_of_the_call_is_an_error_that_says_what_to_do(service: Service) -> None:
    def said(name: str, **given: Any) -> str:
        found = asked(service, lambda client: client.call_tool(name, given))
        assert found.is_error
        return str(found.content[0].text)

    assert "did you mean 'code'" in said("search", query="x", corpora=["cod"])
    assert "query" in said("search")
    assert "no passage" in said("fetch", id="x")


def test_the_corpora_are_a_resource(service: Service) -> None:
    found = asked(service, lambda client: client.read_resource("crosscorpus://corpora"))
    held = json.loads(found.contents[0].text)
    assert {one["corpus"] for one in held["corpora"]} == {"code", "wiki", "docs", "history"}
