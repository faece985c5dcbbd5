"""What stands in for a search that failed, so that the other corpora still answer."""

from __future__ import annotations

from typing import Any

from hamilton.node import Node

from operators.context.outcomes import unsuccessful
from operators.frames import TEXT_LISTS, VECTOR_LISTS, empty

_LISTS = {"vector_search": VECTOR_LISTS, "text_search": TEXT_LISTS}


def failed_search(node: Node, error: Exception, seconds: float) -> dict[str, Any]:
    """An empty list and an outcome that says what happened, for a search node of a corpus.

    Raises:
        Exception: ``error`` itself, if the node is no search.
    """
    corpus, _, search = node.name.rpartition(".")
    if search not in _LISTS:
        raise error
    channel = search.removesuffix("_search")
    outcome = unsuccessful(corpus, channel, error, seconds * 1000)
    return {f"{channel}_lists": empty(_LISTS[search]), f"{channel}_outcome": outcome}
