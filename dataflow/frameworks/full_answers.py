"""Answers with the requested number of passages, if the collection has them.

A search returns as many chunks as its depth. If most of them are near-duplicates, too few passages
are left, and the search is repeated with a greater depth.
"""

from collections.abc import Sequence
from typing import Any

from dataflow.driver.answer import Answer
from dataflow.driver.retrieval_driver import RetrievalDriver

DEEPER = 4
"""The factor of the depth of the next search."""

DEEPEST = 3_200
"""Maximum chunks of one search."""


def ask(driver: RetrievalDriver, query: str | Sequence[str], asked: dict[str, Any]) -> Answer:
    """The answer to ``query``; ``asked`` are keywords of ``driver.ask`` with a ``top_k``."""
    answer = driver.ask(query, **asked)
    while depths := _depths(answer, asked["top_k"]):
        answer = driver.ask(query, **(asked | depths))
    return answer


async def aask(
    driver: RetrievalDriver, query: str | Sequence[str], asked: dict[str, Any]
) -> Answer:
    """The asynchronous :func:`ask`."""
    answer = await driver.aask(query, **asked)
    while depths := _depths(answer, asked["top_k"]):
        answer = await driver.aask(query, **(asked | depths))
    return answer


def _depths(answer: Answer, top_k: int) -> dict[str, int]:
    """The next depth of each search that may have more hits; empty if the answer is full."""
    if len(answer) >= top_k:
        return {}
    settings, counts = (answer.provenance[name] for name in ("parameters", "counts"))
    depths = {name: one["search_depth"] for name, one in settings["corpora"].items()}
    rows = {name: max(one["vector"], one["text"]) for name, one in counts["corpora"].items()}
    full = any(depth <= rows[name] and depth < DEEPEST for name, depth in depths.items())
    return {
        f"{name}.search_depth": max(depth, min(DEEPER * depth, DEEPEST))
        for name, depth in depths.items()
        if full
    }
