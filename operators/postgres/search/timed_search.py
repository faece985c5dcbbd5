"""A search of one corpus for all queries, with its outcome and duration."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import polars as pl

from operators.context.search_outcomes import outcome, searched
from operators.frames import TEXT_LISTS, VECTOR_LISTS, empty
from operators.postgres.store import Home, collection_info


class SearchRequest(NamedTuple):
    """The input of every search of a corpus."""

    home: Home
    """The collection that holds the corpus, and the corpus's name there."""
    corpus: str
    """Its name in the configuration."""
    queries: pl.DataFrame
    """The queries for this corpus; if there are none, nothing is searched."""
    timeout_s: float | None = None
    depth: int = 50
    """The length of a list."""
    linked_files: int = 0
    """The most files that enter by links."""


class Searched(NamedTuple):
    """What a search of a corpus returned."""

    lists: pl.DataFrame
    """``VECTOR_LISTS`` or ``TEXT_LISTS``."""
    outcome: pl.DataFrame | None = None
    """``OUTCOMES``; None: there is nothing to tell."""


def timed_search(
    channel: str,
    search: Callable[..., pl.DataFrame],
    request: SearchRequest,
    *vectors: Any,
) -> Searched:
    """The lists that a search returns, and its outcome with its duration.

    A corpus that its collection does not have is ``absent`` and is not searched.

    Args:
        channel: ``vector`` or ``text``.
        search: called as ``search(store, corpus, queries, *vectors, k=, timeout_s=)``.
        request: its input.
        vectors: the queries' embeddings, for a search that takes them.

    Returns:
        ``VECTOR_LISTS`` or ``TEXT_LISTS``, and the outcome.
    """
    lists = empty(VECTOR_LISTS if channel == "vector" else TEXT_LISTS)
    result = None
    store, corpus = request.home
    if request.queries.height and corpus not in collection_info(store).corpora:
        result = outcome(request.corpus, channel, "absent")
    elif request.queries.height:
        began = perf_counter()
        how = {"k": request.depth, "timeout_s": request.timeout_s}
        lists = search(store, corpus, request.queries, *vectors, **how)
        result = searched(request.corpus, channel, lists.height, (perf_counter() - began) * 1000)
    return Searched(lists, result)


def lists_of(searched: Mapping[str, Searched]) -> pl.DataFrame:
    """The lists of all corpora in one frame, with the column ``corpus``."""
    named = [of.lists.with_columns(corpus=pl.lit(name)) for name, of in searched.items()]
    return pl.concat([one for one in named if one.height] or named[:1], how="diagonal")


def outcomes_of(*searched: Mapping[str, Searched]) -> list[pl.DataFrame]:
    """The outcomes of all searches, corpus by corpus."""
    every = (of[name].outcome for name in searched[0] for of in searched)
    return [one for one in every if one is not None]
