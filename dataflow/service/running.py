"""A server from its start to its end: one driver, closed after the last answer."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager

import typer

from dataflow import load_config
from operators.errors import CrosscorpusError
from operators.foundation.extras import installing
from operators.postgres.connection import resolve_dsn
from operators.postgres.store import open_store

try:
    import uvicorn

    from dataflow.service.mcp_server import mcp_server
    from dataflow.service.routes import http_app
    from dataflow.service.warm import Warm
except ImportError as missing:
    raise CrosscorpusError(f"a server needs {missing.name}: {installing('serve')}") from None


@contextmanager
def opened(collection: str, config: str, page: str | None = None) -> Iterator[Warm]:
    """A warm driver of ``collection``, which answers questions until the end of the block."""
    workers = load_config(config).workers
    with (
        open_store(resolve_dsn(reading=True), collection, max_size=workers) as store,
        closing(Warm(store, config, page)) as warm,
    ):
        yield warm


def run_stdio(collection: str, config: str) -> None:
    """Serve the process that started this one, until it closes standard input."""
    answers = os.dup(1)  # nothing but the protocol may be written where the agent reads
    os.dup2(2, 1)
    sys.stdout = os.fdopen(answers, "w", encoding="utf-8")
    from crosscorpus import __version__

    with opened(collection, config) as use:
        mcp_server(use, __version__).run("stdio")


def run_http(collection: str, config: str, host: str, port: int, seconds: float) -> None:
    """Serve ``host:port`` until the process is told to end; answers under way are finished."""
    from crosscorpus import __version__

    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    with opened(collection, config, f"{address}/p") as use:
        server = mcp_server(use, __version__, seconds)
        mcp = server.streamable_http_app(stateless_http=True, json_response=True, host=host)

        @asynccontextmanager
        async def lifespan(_: object) -> AsyncIterator[None]:
            async with server.session_manager.run():
                yield

        app = http_app(use, __version__, host, seconds=seconds, lifespan=lifespan)
        app.mount("/", mcp)
        typer.echo(f"{collection} is served: a page at {address}, MCP at {address}/mcp", err=True)
        uvicorn.run(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=30)
