"""What stands in for a search that failed, so that the other corpora still answer."""

from __future__ import annotations

from typing import Any

from hamilton.node import Node

from operators.context.outcomes import unsuccessful
from operators.frames import CHUNKS, TEXT_LISTS, VECTOR_LISTS, empty

_RESULTS = {
    "vector_search": ("vector", "vector_lists", VECTOR_LISTS),
    "text_search": ("text", "text_lists", TEXT_LISTS),
    "read_chunks": ("chunks", "chunks", CHUNKS),
}


def failed_search(node: Node, error: Exception, seconds: float) -> dict[str, Any]:
    """An empty result and an outcome that says what happened, for what reads a corpus.

    Raises:
        Exception: ``error`` itself, if the node is no search.
    """
    corpus, _, name = node.name.rpartition(".")
    if name not in _RESULTS:
        raise error
    channel, result, schema = _RESULTS[name]
    outcome = unsuccessful(corpus, channel, error, seconds * 1000)
    return {result: empty(schema), f"{channel}_outcome": outcome}
