"""The page for people: three files without a build step, and a tool that agents lack.

Its Content-Security-Policy allows nothing from other servers, and only its own script.
"""

from importlib.resources import files
from typing import Literal

import polars as pl
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from dataflow.service import models
from dataflow.service.tools import (
    Id,
    Service,
    Use,
    document,
    put_on_record,
    stored_passage,
    text_of,
    with_service,
)

KINDS = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
ALLOWED = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
ALLOWED += "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def serve_page(app: FastAPI, use: Use, seconds: float) -> None:
    """Add the page and its files to ``app``; it also shows passages without another address.

    ``seconds``: timeout for the text of a passage.
    """
    contents = {name: (files(__package__) / "static" / name).read_bytes() for name in KINDS}

    def file(name: str) -> Response:
        return Response(contents[name], headers=headers, media_type=KINDS[name])

    headers = {"content-security-policy": ALLOWED, "referrer-policy": "no-referrer"}
    headers |= {"cache-control": "no-cache"}

    @app.get("/", include_in_schema=False)
    async def start() -> Response:
        """The page."""
        return file("index.html")

    @app.get("/static/{name}", include_in_schema=False)
    async def part(name: Literal["page.css", "page.js"]) -> Response:
        """What the page needs."""
        return file(name)

    @app.get("/p/{id}", include_in_schema=False)
    async def passage(id: str, request: Request) -> Response:
        """The text of a passage, and in a browser the page that shows it."""
        if "text/html" in request.headers.get("accept", ""):
            return file("index.html")
        _, row = await with_service(use, lambda service: stored_passage(service, id), seconds)
        put_on_record("passage", 1)
        return PlainTextResponse(row["text"])


def neighbours(service: Service, id: Id) -> models.Neighbours:
    """A passage with the two before and the two after it in its document."""
    store, row = stored_passage(service, id)
    near = pl.col("ordinal").is_between(row["ordinal"] - 2, row["ordinal"] + 2)
    rows = document(store, row).filter(near).iter_rows(named=True)
    corpus = id.partition(":")[0]
    return models.Neighbours(
        passages=[text_of(service, f"{corpus}:{one['chunk_id']}", one, one["text"]) for one in rows]
    )
