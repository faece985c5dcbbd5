"""The official client of the generation before (mcp 1.x) asks a server over both transports.

It runs in an environment of its own: the two generations do not live in one.
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def ask(read: Any, write: Any, how: str) -> None:
    async with ClientSession(read, write) as session:
        begun = await session.initialize()
        assert len((await session.list_tools()).tools) == 9
        found = await session.call_tool("search", {"query": "why are buckets refilled?"})
        told = json.loads(found.content[0].text)
        assert told == found.structuredContent
        text = await session.call_tool("fetch", {"id": told["results"][0]["title"]})
        assert text.structuredContent["text"]
        refused = await session.call_tool("search", {"query": "x", "corpora": ["cod"]})
        assert refused.isError
        assert "did you mean 'code'" in refused.content[0].text
        print(f"mcp 1.x over {how}, protocol {begun.protocolVersion}: answered")


async def main(python: str, url: str) -> None:
    command = ["-m", "dataflow", "serve", "-C", "tollgate", "--stdio"]
    given = StdioServerParameters(command=python, args=command, env=dict(os.environ))
    async with stdio_client(given) as (read, write):
        await ask(read, write, "stdio")
    async with streamablehttp_client(url) as (read, write, _):
        await ask(read, write, "HTTP")


asyncio.run(main(*sys.argv[1:]))
