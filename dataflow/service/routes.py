"""The tools over HTTP: one POST each, with the models that MCP has, and an OpenAPI description."""

import os
from collections.abc import Collection
from functools import partial
from inspect import signature
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST

from dataflow.service import models
from dataflow.service.arguments import as_sent, model_of
from dataflow.service.page import neighbours, serve_page
from dataflow.service.protection.gate import LOCAL, WELL_KNOWN, Gate
from dataflow.service.protection.limits import RETRY_S, Busy, answered
from dataflow.service.protection.provider_sign_in import ProviderSignIn, serve_sign_in
from dataflow.service.protection.sessions import Sessions, serve_sessions
from dataflow.service.protection.tokens import Callers
from dataflow.service.tools import Service, Use, put, with_service
from dataflow.service.toolset import TOOLS
from operators.errors import CrosscorpusError, SearchError, UnknownName, check_known, plain_text
from operators.postgres.errors import DatabaseError
from operators.postgres.store import collection_info


def http_app(
    use: Use, version: str, hosts: Collection[str] = (), *, seconds: float = 30,
    here: Collection[str] = LOCAL, tokens: Callers | None = None,
    sign_in: ProviderSignIn | None = None, **options: Any,
) -> FastAPI:  # fmt: skip
    """The application of one collection; ``options`` are FastAPI's.

    Requests must use a name of this machine (``here``) or one of ``hosts``; pages of other servers
    are refused (:mod:`dataflow.service.protection.gate`). Bodies have no unknown fields. An unknown
    name is 404 with the nearest names, another invalid request 422. An unreachable database is 503,
    and so are searches that all fail; no answer within ``seconds`` is 504, and so is a search past
    its own deadline if that is an error; 429 if too many questions wait.
    """
    options |= {"telemetry": {"tracing": False}}  # its spans contain the page's address: the query
    app = FastAPI(  # without FastAPI's pages of documentation, which load scripts from elsewhere
        title="crosscorpus", version=version, docs_url=None, redoc_url=None, **options
    )
    sessions = Sessions()
    app.add_middleware(Gate, hosts=hosts, here=here, tokens=tokens, sessions=sessions)
    serve_sessions(app, tokens, sessions, sign_in.begins_at if sign_in else None)
    if sign_in:
        serve_sign_in(app, sign_in, sessions)
    problems: dict[int | str, dict[str, Any]] = {
        status: {"model": models.Problem}
        for status in (400, 401, 403, 404, 408, 413, 422, 429, 503, 504)
    }
    for tool in (*TOOLS, neighbours):
        app.post(f"/api/{tool.__name__}", description=tool.__doc__, responses=problems)(
            _route(tool, use, seconds)
        )

    @app.exception_handler(RequestValidationError)
    def unlike(request: Request, error: RequestValidationError) -> JSONResponse:
        detail = models.faults(error.errors())
        if "json" not in request.headers.get("content-type", ""):
            detail = "the body is JSON: send the header content-type: application/json"
        return JSONResponse(models.Problem(detail=detail).model_dump(), 422)

    @app.exception_handler(CrosscorpusError)
    def refused(request: Request, error: CrosscorpusError) -> JSONResponse:
        known = {UnknownName: 404, DatabaseError: 503, SearchError: 503, TimeoutError: 504}
        known |= {Busy: 429}
        status = next((code for kind, code in known.items() if isinstance(error, kind)), 422)
        headers = {"retry-after": str(RETRY_S)} if status == 429 else None
        return JSONResponse(models.Problem(detail=plain_text(error)).model_dump(), status, headers)

    @app.exception_handler(405)
    def wrong_method(request: Request, error: HTTPException) -> JSONResponse:
        allowed = (error.headers or {}).get("Allow", "another method")
        body = " with a JSON object" if request.url.path.startswith("/api/") else ""
        detail = f"{request.method} is not for this address: send {allowed}{body}"
        return JSONResponse(models.Problem(detail=detail).model_dump(), 405, error.headers)

    serve_page(app, use, seconds)

    @app.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """For Prometheus."""
        text = await with_service(
            use, lambda service: service.metrics.scrape(service.homes), seconds
        )
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    @app.get(f"{WELL_KNOWN}/{{path:path}}", include_in_schema=False)
    async def protected(path: str, request: Request) -> dict[str, Any]:
        """The metadata of a protected resource for OAuth clients (RFC 9728)."""
        return {
            "resource": f"{request.base_url}{path}",
            "bearer_methods_supported": ["header"],
            "resource_name": "crosscorpus",
        }

    @app.get("/healthz")
    async def healthy() -> dict[str, str | int]:
        """Liveness: the process answers."""
        return {"status": "ok", "pid": os.getpid()}

    @app.get("/readyz", responses={503: {"model": models.Problem}})
    async def ready() -> dict[str, str]:
        """Readiness: the collection answers too."""

        def read(service: Service) -> None:
            service.store.forget_info()
            collection_info(service.store)

        await with_service(use, read, seconds)
        return {"status": "ok"}

    @app.post("/api/{name}", include_in_schema=False)
    async def unknown(name: str) -> None:
        """404 with the nearest tool."""
        check_known("tool", name, [tool.__name__ for tool in TOOLS])

    return app


def _route(tool: Any, use: Use, seconds: float) -> Any:
    model = as_sent(model_of(tool))

    async def run(asked: Any) -> Any:
        arguments = {name: getattr(asked, name) for name in asked.model_fields_set}
        return await answered(partial(put, use, tool, arguments), seconds)

    run.__name__ = tool.__name__
    answer = signature(tool).return_annotation
    run.__annotations__ = {"asked": model, "return": answer}
    return run
