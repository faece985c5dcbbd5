"""A server from its start to its end: one driver, closed after the last answer."""

import logging
import os
import resource
import socket
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from ipaddress import ip_address
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import typer

from dataflow import load_config
from operators.errors import CrosscorpusError, UnknownName
from operators.foundation.extras import installing
from operators.postgres.connection import resolve_dsn
from operators.postgres.store import open_store

try:
    import uvicorn
    from fastapi import FastAPI
    from mcp.server.transport_security import TransportSecuritySettings
    from opentelemetry import trace
    from starlette.requests import Request
    from starlette.routing import Route

    from dataflow.service.local import ask_server, socket_path
    from dataflow.service.mcp_server import mcp_server
    from dataflow.service.protection.connections import Connection
    from dataflow.service.protection.gate import LOCAL, host_name, is_owner
    from dataflow.service.protection.provider_sign_in import ProviderSignIn
    from dataflow.service.protection.tokens import Callers
    from dataflow.service.routes import http_app
    from dataflow.service.tools import AUDIT, Service, with_service
    from dataflow.service.warm import Warm
except ImportError as missing:
    raise CrosscorpusError(f"a server needs {missing.name}: {installing('serve')}") from None

Reply = Callable[[Service, Mapping[str, Any]], Mapping[str, Any]]
"""Answers the request of a command."""


@contextmanager
def opened(
    collection: str, config: str, page: str | None = None, *, refresh: bool
) -> Iterator[Warm]:
    """A warm driver of ``collection``, which answers questions until the end of the block."""
    workers = load_config(config).workers
    with (
        open_store(resolve_dsn(reading=True), collection, max_size=workers) as store,
        closing(Warm(store, config, page, refresh=refresh)) as warm,
    ):
        yield warm


def run_stdio(collection: str, config: str, *, refresh: bool) -> None:
    """Serve the process that started this one, until it closes standard input."""
    answers = os.dup(1)  # only the protocol may be written to the agent's pipe
    os.dup2(2, 1)
    sys.stdout = os.fdopen(answers, "w", encoding="utf-8")
    from crosscorpus import __version__

    with opened(collection, config, refresh=refresh) as use, _exporting():
        mcp_server(use, __version__, one_agent=True).run("stdio")


def run_http(
    collection: str,
    config: str,
    host: str,
    port: int,
    seconds: float,
    reply: Reply,
    *,
    refresh: bool,
    names: Collection[str] = (),
    callers: Callers | None = None,
    open_to_all: bool = False,
    public_url: str | None = None,
    sign_in: ProviderSignIn | None = None,
) -> None:
    """Serve ``host:port`` until the process receives a signal; running answers are finished.

    A command on this machine uses a socket in the data directory, and ``reply`` answers it.
    ``names``: of this server, besides ``host`` and those of this machine. ``callers`` identifies
    callers by their tokens; without it they are anonymous. ``open_to_all``: everybody may search
    without a token, from other machines too. ``public_url``: the address in browsers, which links
    of passages have, and whose name is this server's. ``sign_in``: people sign in with a provider.

    Raises:
        CrosscorpusError: one of ``names`` is invalid, or other machines need no token.
    """
    if not (callers or open_to_all or _is_loopback(host)):
        raise CrosscorpusError(
            f"at {host} other machines could ask: --tokens FILE says who may (`crosscorpus rights"
            " token` makes one), --open lets everyone who reaches it ask"
        )
    if wrong := [name for name in names if host_name(name) != name.lower()]:
        raise CrosscorpusError(f"--allow-host takes a name without a port, not {wrong[0]!r}")
    from crosscorpus import __version__

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each idle connection holds one
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    own = f"[{shown}]" if ":" in shown else shown
    address = f"http://{own}:{port}"
    here_too = LOCAL | {own.lower()}
    public = {host_name(urlsplit(public_url).netloc) or ""} if public_url else set()
    with (
        closing(_listening(host, port)) as everywhere,
        opened(collection, config, f"{public_url or address}/p", refresh=refresh) as use,
        _listening_here(collection) as here,
        _exporting(),
    ):
        server = mcp_server(use, __version__, seconds)
        # the gate before it checks the caller, by this server's names
        mcp = server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

        @asynccontextmanager
        async def lifespan(_: object) -> AsyncIterator[None]:
            async with server.session_manager.run():
                yield

        app = http_app(
            use,
            __version__,
            {name.lower() for name in names} | (public - here_too),
            here=here_too,
            seconds=seconds,
            tokens=callers,
            sign_in=sign_in,
            lifespan=lifespan,
        )

        @app.post("/local/query", include_in_schema=False)
        async def query(asked: dict[str, Any], request: Request) -> Any:
            if not is_owner(request.scope):  # not by the owner's socket:
                raise UnknownName("a command asks by its socket")  # a change may name code to load

            def work(service: Service) -> Any:
                return reply(service, asked) if asked["config"] == service.source else None

            return await with_service(use, work, seconds)

        for route in mcp.routes:
            if isinstance(route, Route):  # a GET would wait forever: the server sends no events
                route.methods = {"POST"}
        app.router.routes += mcp.routes
        if callers and not AUDIT.handlers:  # a surrounding program may have configured it
            AUDIT.addHandler(logging.StreamHandler())
            AUDIT.setLevel(logging.INFO)
            AUDIT.propagate = False
        typer.echo(f"{collection} is served: a page at {address}, MCP at {address}/mcp", err=True)
        uvicorn.Server(configured(app)).run([everywhere, *here])


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name, which may resolve to any address
        return False


def configured(app: FastAPI, **options: Any) -> uvicorn.Config:
    """The configuration of ``app``'s server; ``options`` are uvicorn's.

    A caller's address is the connection's, because a header with another one can be forged.
    """
    usual: dict[str, Any] = {"log_level": "warning", "timeout_graceful_shutdown": 30}
    return uvicorn.Config(app, http=Connection, proxy_headers=False, **usual | options)


@contextmanager
def _exporting() -> Iterator[None]:
    """Export spans as OpenTelemetry's variables configure, until the end of the block."""
    variables = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    usual = "otlp" if any(map(os.environ.get, variables)) else "none"
    exporters = set((os.environ.get("OTEL_TRACES_EXPORTER") or usual).split(",")) - {"none"}
    if not (exporters and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)):
        yield
        return
    if unknown := ", ".join(sorted(exporters - {"otlp", "console"})):
        raise CrosscorpusError(f"OTEL_TRACES_EXPORTER is otlp, console or none, not {unknown}")
    for variable in ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"):
        if (protocol := os.environ.get(variable) or "http/protobuf") != "http/protobuf":
            text = f"spans go by http/protobuf (often to port 4318): {variable} can't be {protocol}"
            raise CrosscorpusError(text)
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider, export
    except ImportError as missing:
        raise CrosscorpusError(f"spans need {missing.name}: {installing('otel')}") from None
    resource = Resource.create({"service.name": "crosscorpus"})
    provider = TracerProvider(resource=resource.merge(OTELResourceDetector().detect()))
    for name in exporters:
        to = OTLPSpanExporter() if name == "otlp" else export.ConsoleSpanExporter(out=sys.stderr)
        provider.add_span_processor(export.BatchSpanProcessor(to))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        (last := Thread(target=provider.shutdown, daemon=True)).start()
        last.join(5)  # the SDK waits 30 s for an unreachable receiver


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2_048
        )
    except OSError as error:
        raise CrosscorpusError(
            f"can't listen at {host}:{port}: {error.strerror}; --host and --port name another place"
        ) from None


@contextmanager
def _listening_here(collection: str) -> Iterator[list[socket.socket]]:
    """The socket for this machine's commands; None if another server has it."""
    path = socket_path(collection)
    if ask_server(collection, "/healthz") or len(os.fsencode(path)) > 100:
        yield []
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(str(path))
        path.chmod(0o600)
        here.listen()
        try:
            yield [here]
        finally:
            path.unlink(missing_ok=True)
