"""Every door of the service, asked about the same few documents."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import anyio
import httpx2

from dataflow.service.routes import http_app
from dataflow.service.tools import Service

DIFF = "--- a/1.0/limits.md\n+++ b/1.0/limits.md\n@@ -3 +3 @@\n-It is flushed.\n+It is kept.\n"


def replies(service: Service, ids: list[str]) -> dict[str, str]:
    """What each way to ask answers to questions about what is hidden, without their own words."""
    ask = {"query": "cache limits flushed", "top_k": 50}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", ask),
        ("search", {**ask, "version": "1.0"}),
        ("get_context", {"query": "cache limits flushed"}),
        ("explain", {"query": "cache limits flushed"}),
        ("explain", {"query": "cache", "passages": ids}),
        ("batch", {"queries": ["cache limits flushed"], "top_k": 50}),
        ("review_context", {"diff": DIFF, "title": "cache limits flushed"}),
        ("review_context", {"diff": DIFF, "repo": "org/none"}),
        ("versions", {}),
        ("status", {}),
        ("graph", {"query": "cache"}),
    ]
    for name in ("limits", "limits.md", "1.0/limits.md"):
        asked += [("versions", {"document": name}), ("versions", {"document": name, "older": "1"})]
    for id in ids:
        asked += [("fetch", {"id": id}), ("fetch", {"id": id, "version": "2.0"})]
        asked += [("fetch", {"id": id, "lines": "1-9"}), ("neighbours", {"id": id})]

    async def run() -> dict[str, str]:
        transport = httpx2.ASGITransport(app=http_app(lambda: nullcontext(service), "1"))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            told = {
                f"{name} {given}": (await client.post(f"/api/{name}", json=given)).text
                for name, given in asked
            }
            for path in ("/metrics", "/readyz", *(f"/p/{id}" for id in ids)):
                told[path] = (await client.get(path)).text
            return told

    return anyio.run(run)
