"""The command that serves a collection to agents and apps."""

from typing import Annotated

import typer

from dataflow.cli.options import Collection, Config


def serve(
    collection: Collection = "default",
    config: Config = "default",
    stdio: Annotated[
        bool, typer.Option("--stdio", help="MCP for the one agent that started this.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Where to listen.")] = 8765,
    deadline: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="How long a question may take.")
    ] = 30,
) -> None:
    """Serve a collection to agents (MCP) and apps (HTTP), until it is ended.

    A page for people is at `/`, MCP at `/mcp`, the same tools over HTTP at `/api`, described at
    `/openapi.json`. Every caller sees the whole collection, so it listens on this machine alone
    unless told otherwise.

    Example: crosscorpus serve -C team

    An agent that starts it itself: crosscorpus serve -C team --stdio
    """
    from dataflow.service.running import run_http, run_stdio

    if stdio:
        run_stdio(collection, config)
    else:
        run_http(collection, config, host, port, deadline)
