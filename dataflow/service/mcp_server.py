"""The tools over MCP, with the official package: stdio for one agent, streamable HTTP for many."""

import json
from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ValidationError

from dataflow.service.arguments import FILTER_TYPES, check_names, model_of, sent_types
from dataflow.service.models import Context, Hits, faults
from dataflow.service.protection.limits import answered
from dataflow.service.stdio import StdioServer
from dataflow.service.tools import Use, audit_answer, put, status, with_service
from dataflow.service.toolset import TOOLS
from operators.context.packing import with_texts
from operators.errors import CrosscorpusError, UnknownName, plain_text

INSTRUCTIONS = (
    "Search what a software team knows: code, history, reviews, tickets, chat, wiki, documents. "
    "Use get_context to answer a question and cite its labels, grep for every place of an exact "
    "text, history for why a file or lines are as they are, review_context to review a diff; "
    "search and fetch to look around; read the notes."
)

REMEMBERED = 200
"""Texts of a session that are not sent again: those of the last twenty answers or so."""

SENT = "shown above, or fetch it"
"""In place of such a text: sub-agents share a session, and an agent drops what it read."""

SAME_EVERYWHERE = {*FILTER_TYPES, "cursor", "brief"}
"""Parameters that mean the same in every tool: the first tool that has one describes it."""


def mcp_server(
    use: Use, version: str, seconds: float = 30, *, one_agent: bool = False
) -> MCPServer:
    """The server of one collection: nine tools, all read-only, and its corpora as a resource.

    With ``one_agent`` all calls are those of one session: a text that it has is not sent again.
    """
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    made = partial(StrictTool.from_function, annotations=hints, structured_output=True)
    sent: dict[tuple[str, str], None] | None = {} if one_agent else None
    tools = [made(served(tool, use, seconds, sent)) for tool in TOOLS]
    described = set[str]()
    for tool in tools:
        tool.parameters = brief(tool.parameters)
        for name, one in tool.parameters["properties"].items():
            if name in described:  # each says the same in every tool
                one.pop("description", None)
        described |= tool.parameters["properties"].keys() & SAME_EVERYWHERE
    options: dict[str, Any] = {"version": version, "log_level": "WARNING", "tools": tools}
    server = StdioServer("crosscorpus", instructions=INSTRUCTIONS, **options)

    @server.resource("crosscorpus://corpora", mime_type="application/json")
    async def corpora() -> str:
        """The corpora, how much they hold and when they were read."""
        answer = await with_service(use, status, seconds)
        audit_answer("corpora", answer)
        return str(answer.model_dump_json())

    return server


class StrictTool(Tool):
    """A tool that refuses unknown arguments; the MCP package ignores them."""

    async def run(self, arguments: dict[str, Any], *how: Any, **more: Any) -> Any:
        """Run the tool; a wrong call is an error of one line."""
        try:
            check_names(arguments, self.parameters["properties"])
            return await super().run(arguments, *how, **more)
        except UnknownName as error:
            raise ToolError(str(error)) from None
        except ToolError as error:
            if type(error) is not ToolError:  # a fault of ours
                raise
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(faults(error.__cause__.errors())) from None
            message = str(error).removeprefix(f"Error executing tool {self.name}: ")
            raise ToolError(message) from None


def brief(schema: Any) -> Any:
    """A JSON Schema without what an agent does not need: titles, limits, and null defaults.

    >>> brief({"title": "Path", "anyOf": [{"type": "string"}, {"type": "null"}], "default": None})
    {'type': 'string'}
    """
    if not isinstance(schema, dict):
        return [brief(part) for part in schema] if isinstance(schema, list) else schema
    unused: dict[str, type] = dict.fromkeys(("title", "pattern", "format"), str)
    unused |= dict.fromkeys(("maxLength", "maxItems", "minimum", "maximum"), int)
    named = [one for one in schema.items() if not isinstance(one[1], unused.get(one[0], ()))]
    kept = {name: brief(part) for name, part in named}
    match kept:
        case {"anyOf": [only, {"type": "null"}], "default": None}:
            return only | {n: one for n, one in kept.items() if n not in ("anyOf", "default")}
    return kept


def served(
    tool: Callable[..., Any],
    use: Use,
    seconds: float,
    sent: dict[tuple[str, str], None] | None = None,
) -> Callable[..., Any]:
    """``tool`` with the parameters that a caller sets; our errors become tool errors.

    A field without a value is left out of its answers: an agent pays by token. ``sent`` has the
    texts of the session so far, by the passage's title; without it nothing is remembered.
    """

    @wraps(tool)
    async def run(**arguments: Any) -> CallToolResult:
        try:
            answer = await answered(partial(put, use, tool, arguments), seconds)
        except CrosscorpusError as error:
            raise ToolError(plain_text(error)) from None
        if sent is not None and arguments.get("brief", True):
            answer = without_sent(answer, sent)
        told = answer.model_dump(mode="json", exclude_defaults=True)
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        content = TextContent(type="text", text=text)
        return CallToolResult(content=[content], structured_content=told)

    whole = signature(tool)
    parameters = [one for one in whole.parameters.values() if one.name != "service"]
    types = sent_types(model_of(tool))
    run.__signature__ = whole.replace(  # type: ignore[attr-defined]
        parameters=[
            one.replace(
                kind=Parameter.KEYWORD_ONLY,
                annotation=types.get(one.name, one.annotation),
                default=True if one.name == "brief" else one.default,  # an agent pays by token
            )
            for one in parameters
        ]
    )
    return run


def without_sent(answer: BaseModel, sent: dict[tuple[str, str], None]) -> BaseModel:
    """``answer`` without the texts that are among the last ``REMEMBERED`` of ``sent``.

    They are the snippets of a search and the passages of a context; other answers have none.

    >>> from dataflow.service.models import Hit
    >>> sent = {}
    >>> hits = Hits(results=[Hit(title="a.py:1-9", snippet="def a(): ...")])
    >>> [without_sent(hits, sent).results[0].snippet for _ in range(2)]
    ['def a(): ...', 'shown above, or fetch it']
    """

    def new(title: str, text: str) -> str:
        shown = SENT if (title, text) in sent else text
        sent.pop((title, text), None)
        sent[title, text] = None  # the newest stands last
        return shown

    if isinstance(answer, Hits):
        hits = [
            one.model_copy(update={"snippet": new(one.title, one.snippet)})
            for one in answer.results
        ]
        answer = answer.model_copy(update={"results": hits})
    elif isinstance(answer, Context):
        answer = answer.model_copy(update={"text": with_texts(answer.text, new)})
    for key in list(sent)[:-REMEMBERED]:
        del sent[key]
    return answer
