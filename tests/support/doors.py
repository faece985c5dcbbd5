"""Every door of the service, asked about the same few documents."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import anyio
import httpx2

from dataflow.service.routes import http_app
from dataflow.service.tools import Service

DIFF = "--- a/1.0/limits.md\n+++ b/1.0/limits.md\n@@ -3 +3 @@\n-It is flushed.\n+It is kept.\n"


class Known:
    """Knows every token, as one of the same caller."""

    def __init__(self, principals: tuple[str, ...]) -> None:
        self.principals = principals

    def caller(self, token: str) -> tuple[str, ...] | None:
        return self.principals


def replies(
    service: Service, ids: list[str], caller: tuple[str, ...] | None = None
) -> dict[str, str]:
    """What each way to ask answers to questions about what is hidden, without their own words.

    ``caller``: who asks, by a token; None: the owner, by the socket of his own.
    """
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
    ]
    for name in ("limits", "limits.md", "1.0/limits.md"):
        asked += [("versions", {"document": name}), ("versions", {"document": name, "older": "1"})]
    for id in ids:
        asked += [("fetch", {"id": id}), ("fetch", {"id": id, "version": "2.0"})]
        asked += [("fetch", {"id": id, "lines": "1-9"}), ("neighbours", {"id": id})]

    async def run() -> dict[str, str]:
        tokens, address = Known(caller or ()), ("127.0.0.1", 1)
        app = http_app(lambda: nullcontext(service), "1", tokens=None if caller is None else tokens)
        of: Any = None if caller is None else address
        transport = httpx2.ASGITransport(app=app, client=of)
        headers = {"authorization": "Bearer x"}
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        ) as client:
            told = {
                f"{name} {given}": (await client.post(f"/api/{name}", json=given)).text
                for name, given in asked
            }
            for path in ("/metrics", "/readyz", *(f"/p/{id}" for id in ids)):
                told[path] = (await client.get(path)).text
            return told

    return anyio.run(run)
