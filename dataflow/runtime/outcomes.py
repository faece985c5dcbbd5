"""What stands in for a search that failed, so that the other corpora still answer."""

from __future__ import annotations

from typing import Any

import polars as pl
from hamilton.node import Node

from operators.frames import OUTCOMES, TEXT_LISTS, VECTOR_LISTS, empty

_LISTS = {"vector_search": VECTOR_LISTS, "text_search": TEXT_LISTS}
_STATEMENT_TIMEOUT = "57014"


def failed_search(node: Node, error: Exception, seconds: float) -> dict[str, Any]:
    """An empty list and an outcome that says what happened, for a search node of a corpus.

    Raises:
        Exception: ``error`` itself, if the node is no search.
    """
    corpus, _, search = node.name.rpartition(".")
    if search not in _LISTS:
        raise error
    channel = search.removesuffix("_search")
    late = isinstance(error, TimeoutError) or _sqlstate(error) == _STATEMENT_TIMEOUT
    row = {
        "corpus": corpus,
        "channel": channel,
        "status": "timed_out" if late else "failed",
        "rows": 0,
        "elapsed_ms": seconds * 1000,
        "error": one_line(error),
    }
    outcome = pl.DataFrame([row], schema=OUTCOMES)
    return {f"{channel}_lists": empty(_LISTS[search]), f"{channel}_outcome": outcome}


def one_line(error: BaseException, limit: int = 300) -> str:
    """The first line of an error's message, or its type if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0][:limit] if lines else type(error).__name__


def _sqlstate(error: BaseException | None) -> str | None:
    while error is not None:
        if code := getattr(error, "sqlstate", None):
            return str(code)
        error = error.__cause__
    return None
