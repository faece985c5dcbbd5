"""Answers of as many passages as were asked for, where the collection has them.

A search gives as many chunks as its depth says. Where near-duplicates fill it, too few passages are
left, so that the question is asked again, deeper.
"""

from collections.abc import Sequence
from typing import Any

from dataflow.driver.answer import Answer
from dataflow.driver.retrieval_driver import RetrievalDriver

DEEPER = 4
"""How many times deeper the next search is."""

DEEPEST = 3_200
"""Chunks of one search at most."""


def ask(driver: RetrievalDriver, query: str | Sequence[str], asked: dict[str, Any]) -> Answer:
    """The answer to ``query``; ``asked`` are keywords of ``driver.ask`` with a ``top_k``."""
    answer = driver.ask(query, **asked)
    while depths := _depths(answer, asked["top_k"]):
        answer = driver.ask(query, **(asked | depths))
    return answer


async def aask(
    driver: RetrievalDriver, query: str | Sequence[str], asked: dict[str, Any]
) -> Answer:
    """As :func:`ask`, for coroutines."""
    answer = await driver.aask(query, **asked)
    while depths := _depths(answer, asked["top_k"]):
        answer = await driver.aask(query, **(asked | depths))
    return answer


def _depths(answer: Answer, top_k: int) -> dict[str, int]:
    """The depth of each search that may have more; none if the answer is full."""
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
