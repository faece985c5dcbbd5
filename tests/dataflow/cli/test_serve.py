"""The server as its users start it: a process that agents and apps ask."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

ASK = {"query": "when is the cache flushed?", "top_k": 3}


def environment(server_dsn: str, home: Path) -> dict[str, str]:
    return {**os.environ, "CROSSCORPUS_DSN": server_dsn, "CROSSCORPUS_HOME": str(home)}


async def found(client: Client) -> set[str]:
    answer = await client.call_tool("search", ASK)
    assert not answer.is_error, answer.content
    return {hit["title"] for hit in answer.structured_content["results"]}


def test_an_agent_asks_over_its_own_pipe(server_dsn: str, home: Path, collection: str) -> None:
    command = ["-m", "dataflow", "serve", "-C", collection, "--stdio"]
    given = StdioServerParameters(
        command=sys.executable, args=command, env=environment(server_dsn, home)
    )

    async def ask() -> set[str]:
        async with Client(given) as client:
            return await found(client)

    assert "[code: src/cache.py:1-3]" in anyio.run(ask)


def test_apps_and_agents_ask_one_server_until_it_is_told_to_end(
    server_dsn: str, home: Path, collection: str
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "dataflow", "serve", "-C", collection, "--port", str(port)]
    with subprocess.Popen(
        command, env=environment(server_dsn, home), stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        assert f"MCP at {address}/mcp" in server.stderr.readline()
        for _ in range(200):
            try:
                httpx2.get(f"{address}/readyz").raise_for_status()
                break
            except httpx2.TransportError:
                time.sleep(0.05)
        answer = httpx2.post(f"{address}/api/search", json=ASK, timeout=60).json()
        titles = {hit["title"] for hit in answer["results"]}

        async def ask() -> set[str]:
            async with Client(f"{address}/mcp") as client:
                return await found(client)

        assert anyio.run(ask) == titles
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) in (0, 143)
        assert "Traceback" not in server.stderr.read()


def test_a_collection_that_is_not_there_is_one_line(crosscorpus: Any) -> None:
    done = crosscorpus("serve", "-C", "nope")
    assert done.returncode == 2
    assert "no collection 'nope'" in done.stderr
