"""The callers of `benchmarks.soak`: over HTTP, MCP and the page, without a pause for kills."""

from __future__ import annotations

import random
import re
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import numpy as np
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.soak_source import SECRET, SECRET_WORD, Tree

TOP_K = 10
NUMBERS = r"\d+"
LEAVES = 0.1
"""The share of the questions over HTTP whose caller leaves after some 20 milliseconds."""
SIGNED_IN = 5
"""The questions that a person on the page asks before signing out."""


@dataclass(frozen=True)
class Asked:
    """A question that was asked: when (monotonic), how long it took, and what came of it."""

    at: float
    seconds: float
    door: str
    outcome: str  # "ok", "note: ..." where a part was missing, or what was wrong

    @property
    def answered(self) -> bool:
        """Whether it was, perhaps by keyword search only."""
        return self.outcome.startswith(("ok", "note"))


@dataclass
class Callers:
    """What the callers do and see."""

    address: str
    tree: Tree
    tokens: dict[str, str]
    pause_s: float
    asked: list[Asked] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def start(self, number: int) -> list[threading.Thread]:
        """Start so many callers."""
        doors = (self._over_mcp, self._over_http, self._over_page, self._over_http)
        work = [doors[n % len(doors)] for n in range(number)]
        threads = [threading.Thread(target=one, args=(n,)) for n, one in enumerate(work)]
        for thread in threads:
            thread.start()
        return threads

    def next_question(self, draw: random.Random) -> tuple[str, str | None]:
        """A question, and the path that must be found where there is one."""
        if draw.random() < 0.5:
            return draw.choice(list(self.tree.needles.items()))
        return " ".join(f"word{int(draw.paretovariate(0.5)) % 40_000}" for _ in range(3)), None

    def judge(self, user: str, question: str, path: str | None, told: dict[str, Any]) -> str:
        """The outcome of an answer; a wrong one is kept."""
        failed = [note for note in told.get("notes", []) if "ingested" not in note]
        titles = " ".join(hit["title"] for hit in told["results"])
        # a commit names the paths of its files to all who may see the commit
        if user != "ann" and (SECRET in titles or SECRET_WORD in str(told)):
            self.wrong.append(f"{user} was shown {SECRET} for {question!r}")
            return "wrong"
        if path and path not in titles and not failed:
            self.wrong.append(f"{user} did not find {path} by {question!r}: {titles[:300]}")
            return "wrong"
        return f"note: {re.sub(NUMBERS, 'N', failed[0])[:100]}" if failed else "ok"

    def headers(self, user: str, number: int) -> dict[str, str]:
        """Who asks."""
        return {"authorization": f"Bearer {self.tokens[user]}", "x-caller": f"caller {number}"}

    def _keep(self, began: float, door: str, outcome: str) -> None:
        self.asked.append(Asked(began, time.monotonic() - began, door, outcome))

    def _over_http(self, number: int) -> None:
        draw, users = random.Random(number), sorted(self.tokens)
        with httpx2.Client(timeout=60) as client:
            while not self.over.wait(draw.expovariate(1 / self.pause_s)):
                user = draw.choice(users)
                leaves = draw.random() < LEAVES
                with httpx2.Client(timeout=0.02) if leaves else nullcontext(client) as one:
                    self._search(one, draw, user, "http", self.headers(user, number))

    def _over_page(self, number: int) -> None:
        draw, users = random.Random(number), sorted(self.tokens)
        while not self.over.wait(draw.expovariate(1 / self.pause_s)):
            user = draw.choice(users)
            with httpx2.Client(timeout=60) as client:
                began = time.monotonic()
                try:
                    client.get(self.address).raise_for_status()
                    given = {"token": self.tokens[user]}
                    client.post(f"{self.address}/session", json=given).raise_for_status()
                    for _ in range(SIGNED_IN):
                        self._search(client, draw, user, "page", {})
                    client.delete(f"{self.address}/session").raise_for_status()
                except httpx2.HTTPError as error:
                    self._keep(began, "page", type(error).__name__)
                    self.over.wait(1)

    def _search(
        self,
        client: httpx2.Client,
        draw: random.Random,
        user: str,
        door: str,
        headers: dict[str, str],
    ) -> None:
        """Ask one question, and keep what came of it."""
        question, path = self.next_question(draw)
        began, asked = time.monotonic(), {"query": question, "top_k": TOP_K}
        try:
            reply = client.post(f"{self.address}/api/search", json=asked, headers=headers)
            if reply.status_code == 200:
                outcome = self.judge(user, question, path, reply.json())
            else:
                outcome = f"{reply.status_code} {reply.text[:100]}"
        except httpx2.HTTPError as error:
            outcome = type(error).__name__
        self._keep(began, door, outcome)
        if outcome == "ConnectError":
            self.over.wait(1)

    def _over_mcp(self, number: int) -> None:
        draw = random.Random(number)
        user = draw.choice(sorted(self.tokens))

        async def ask() -> None:
            headers = self.headers(user, number)
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60) as client,
                Client(
                    streamable_http_client(f"{self.address}/mcp", http_client=client),
                    read_timeout_seconds=60,
                ) as session,
            ):
                while not self.over.is_set():
                    await anyio.sleep(draw.expovariate(1 / self.pause_s))
                    question, path = self.next_question(draw)
                    began = time.monotonic()
                    arguments = {"query": question, "top_k": TOP_K}
                    reply = await session.call_tool("search", arguments)
                    if reply.is_error or reply.structured_content is None:
                        outcome = f"error {str(reply.content)[:100]}"
                    else:
                        outcome = self.judge(user, question, path, reply.structured_content)
                    self._keep(began, "mcp", outcome)

        while not self.over.is_set():
            began = time.monotonic()
            try:
                anyio.run(ask)
            except Exception as error:  # a group of those of the tasks
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]  # type: ignore[assignment]
                self._keep(began, "mcp", f"{type(error).__name__} {str(error)[:60]}".strip())
                self.over.wait(1)


def answer(client: httpx2.Client, address: str, token: str, question: str) -> list[str] | str:
    """The ids that a question finds, in order; a text: what was wrong, for 60 seconds."""
    fault = ""
    for _ in range(30):
        try:
            reply = client.post(
                f"{address}/api/search",
                json={"query": question, "top_k": TOP_K},
                headers={"authorization": f"Bearer {token}", "x-caller": "check"},
            )
            if reply.status_code == 200:
                content = reply.json()
                failed = [note for note in content["notes"] if "ingested" not in note]
                if not failed:
                    return [hit["id"] for hit in content["results"]]
                fault = str(failed)
            else:
                fault = f"{reply.status_code} {reply.text[:200]}"
        except httpx2.HTTPError as error:
            fault = type(error).__name__
        time.sleep(2)
    return fault


def percentiles(asked: list[Asked]) -> tuple[float | None, float | None]:
    """The 50th and 95th percentile of answers, milliseconds."""
    good = [one.seconds * 1000 for one in asked if one.answered]
    if not good:
        return None, None
    low, high = np.percentile(good, (50, 95))
    return float(low), float(high)
