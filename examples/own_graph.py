"""Searches of your own, and our stages behind them, in a Hamilton graph of your own.

    python examples/own_graph.py "why is the cache flushed twice?"

`words` and `titles` stand for what you have: a call of your search engine each.
"""

import sys
from typing import Any

import polars as pl
from hamilton import driver

from crosscorpus import stages

PAGES = {
    "cache-9": ("The cache", "9.1", "The cache is flushed twice: at start, and after a change."),
    "cache-10": ("The cache", "10.0", "The cache is flushed twice: at start, and by a timer."),
    "cache-copy": ("Notes", None, "The cache is  flushed twice: at start, and by a timer."),
    "keys": ("Keys", None, "A key of the cache expires after an hour."),
}


def words(query: str | list[str]) -> list[dict[str, Any]]:
    """The pages that share words with the question, most words first."""
    asked = set(str(query).lower().split())
    shared = {id: len(asked & set(text.lower().split())) for id, (*_, text) in PAGES.items()}
    return [_hit(id) for id in sorted(shared, key=lambda id: -shared[id]) if shared[id]]


def titles(query: str | list[str]) -> list[dict[str, Any]]:
    """The pages whose title is in the question."""
    return [_hit(id) for id, (title, *_) in PAGES.items() if title.lower() in str(query).lower()]


def found(
    words: list[dict[str, Any]], titles: list[dict[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    """The hits of both searches, by their names."""
    return {"words": words, "titles": titles}


def answer(question: str, **variants: str) -> dict[str, pl.DataFrame]:
    """The results, the context and its citations, by Hamilton's own driver."""
    here = sys.modules[__name__]
    builder = driver.Builder().with_modules(*stages.MODULES, here).allow_module_overrides()
    graph = builder.with_config(stages.settings(**variants)).build()
    wanted: dict[str, pl.DataFrame] = graph.execute(
        ["results", "context_window", "citations"], inputs={"query": question}
    )
    return wanted


def _hit(id: str) -> dict[str, Any]:
    title, version, text = PAGES[id]
    return {"id": id, "text": text, "title": title, "topic": title, "version": version}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('give one question: python examples/own_graph.py "when is the cache flushed?"')
    print(answer(sys.argv[1])["context_window"]["text"].item())
