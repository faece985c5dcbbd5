"""A search of one corpus for all queries, with its outcome and duration."""

from collections.abc import Callable, Container
from time import perf_counter
from typing import Any, NamedTuple

import polars as pl

from operators.context.search_outcomes import outcome, searched
from operators.frames import OUTCOMES, TEXT_LISTS, VECTOR_LISTS, empty
from operators.postgres.store import Home


class Asked(NamedTuple):
    """The input of every search of a corpus."""

    home: Home
    """The collection that holds the corpus, and the corpus's name there."""
    corpus: str
    """Its name in the configuration."""
    queries: pl.DataFrame
    """The queries for this corpus; if there are none, nothing is searched."""
    present: Container[str]
    """The corpora of the collection; another one is ``absent`` and is not searched."""
    timeout_s: float | None = None


def timed_search(
    channel: str, search: Callable[..., pl.DataFrame], asked: Asked, *vectors: Any, **options: Any
) -> dict[str, pl.DataFrame]:
    """The lists that a search returns, and its outcome with its duration.

    Args:
        channel: ``vector`` or ``text``.
        search: called as ``search(store, held_as, queries, *vectors, timeout_s=, **options)``.
        asked: its input.
        vectors: the queries' embeddings, for a search that takes them.

    Returns:
        ``<channel>_lists`` (``VECTOR_LISTS`` or ``TEXT_LISTS``), and ``<channel>_outcome``
        (``OUTCOMES``).
    """
    lists = empty(VECTOR_LISTS if channel == "vector" else TEXT_LISTS)
    result = empty(OUTCOMES)
    if asked.queries.height and asked.home[1] not in asked.present:
        result = outcome(asked.corpus, channel, "absent")
    elif asked.queries.height:
        began = perf_counter()
        lists = search(*asked.home, asked.queries, *vectors, timeout_s=asked.timeout_s, **options)
        result = searched(asked.corpus, channel, lists.height, (perf_counter() - began) * 1000)
    return {f"{channel}_lists": lists, f"{channel}_outcome": result}
