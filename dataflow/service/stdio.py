"""MCP over standard input and output, which also answers a line that is no message.

The package ``mcp`` drops such a line silently, and its caller would wait forever.
"""

import json
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError


class StdioServer(MCPServer):
    """A server that answers each line of standard input that is no notification."""

    async def run_stdio_async(self) -> None:
        """Answer until standard input ends."""
        server = self._lowlevel_server
        into, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
        async with stdio_server() as (read, write), anyio.create_task_group() as group:

            async def sort() -> None:
                async with into:
                    async for one in read:
                        if not isinstance(one, Exception):
                            await into.send(one)
                        elif (wrong := refusal(one)) is not None:
                            await write.send(SessionMessage(wrong))

            group.start_soon(sort)
            await server.run(messages, write, server.create_initialization_options())
            group.cancel_scope.cancel()


def refusal(error: Exception) -> JSONRPCError | None:
    """The error reply to a line that is no message; None: the line is empty.

    It has the request's id if that can be parsed, so that its sender does not wait.
    """
    inputs = [one["input"] for one in error.errors()] if isinstance(error, ValidationError) else []
    line = inputs[0] if inputs else None
    if isinstance(line, str) and not line.strip():
        return None
    code, reason, message = INVALID_REQUEST, "the line is no message of JSON-RPC 2.0", line
    if isinstance(line, str):
        code, reason = PARSE_ERROR, "the line is no JSON in UTF-8"
        message = _loosely(line)
    named = next((one.get("id") for one in (message, *inputs) if isinstance(one, dict)), None)
    if isinstance(named, bool) or not (isinstance(named, int | str) and _sendable(named)):
        named = None
    return JSONRPCError(jsonrpc="2.0", id=named, error=ErrorData(code=code, message=reason))


def _loosely(line: str) -> Any:
    """``line`` parsed as JSON, even with half a character in it; None: not parsable."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _sendable(id: int | str) -> bool:
    try:
        return len(str(id).encode()) < 1_000
    except ValueError:  # half a character, or a number too long to be written
        return False
