"""Fallback values for searches that failed or are not needed, so that other corpora answer."""

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl
from hamilton.node import Node

from dataflow.execution.plan import is_field, node_tags
from operators import frames
from operators.context.search_outcomes import outcome, unsuccessful
from operators.postgres.search.timed_search import Searched

_LISTS = (frames.VECTOR_LISTS, frames.TEXT_LISTS)
"""The frames of the searches, whose outcomes say what happened."""

_CHANNELS = (
    ("vector", frames.VECTOR_LISTS, frames.VECTOR_HITS),
    ("text", frames.TEXT_LISTS, frames.TEXT_HITS),
)
_SCORED = (frames.NORMALIZED, frames.MERGED, frames.UNIFIED)
"""The frames that follow the two ranked lists."""


def stand_in(
    node: Node,
    error: Exception,
    seconds: float,
    frames_of: Mapping[str, pl.Schema],
    corpora: Collection[str],
) -> Any:
    """The fallback value of a node tagged ``fail_open`` that failed.

    It is None for the tag ``none``, and a search without a hit for a search. Otherwise the frames
    of the node or of its fields are empty, except the one with the columns ``OUTCOMES``, which says
    what happened to each of ``corpora``.

    Args:
        frames_of: the columns of the frames of nodes, by node name without the corpus.

    Raises:
        Exception: ``error`` itself, if the node has no frame.
    """
    corpus, _, name = node.name.rpartition(".")
    fields = [one.name.rpartition(".")[2] for one in node.depended_on_by if is_field(one)]
    if node_tags(node).get("fail_open") == "none":
        return None
    if not all(one in frames_of for one in fields or [name]):
        raise error
    if frames_of.get(name) in _LISTS:
        failed = unsuccessful(corpus, name.removesuffix("_search"), error, seconds * 1000)
        return Searched(frames.empty(frames_of[name]), failed)
    empties = {one: frames.empty(frames_of[one]) for one in fields or [name]}
    for field in (one for one in empties if frames_of[one] == frames.OUTCOMES):
        channel = field.removesuffix("_outcome")
        empties[field] = frames.stacked(
            unsuccessful(corpus, channel, error, seconds * 1000) for corpus in sorted(corpora)
        )
    return empties if fields else empties[name]


def searched(name: str, lists: Any) -> Any:
    """A caller's value of the node ``name``; of a search, a frame is its lists."""
    corpus, _, search = name.rpartition(".")
    if not isinstance(lists, pl.DataFrame) or not (corpus and search.endswith("_search")):
        return lists
    return Searched(lists, outcome(corpus, search.removesuffix("_search"), "overridden"))


def not_searched(
    given: Mapping[str, Any],
    corpora: Collection[str],
    frames_of: Mapping[str, pl.Schema],
    wanted: Collection[str] = (),
) -> dict[str, Any]:
    """Values in place of searches whose results no node reads, because a stage is overridden.

    Args:
        given: the caller's overrides, by node.
        frames_of: the columns of the frames of nodes, by name without the corpus.
        wanted: the nodes that are asked for; what they read is searched.

    Returns:
        Values by node: searches without a hit whose outcome is ``overridden``, and no rows for the
        stages before an overridden one; the chunks of its rows are read. Where a vector search's
        result is given, links add nothing, unless ``linked_hits`` is asked for.
    """

    def given_of(*schemas: pl.Schema) -> list[str]:
        return [name for name in given if frames_of.get(name.rpartition(".")[2]) in schemas]

    instead: dict[str, Any] = {}
    scored = given_of(*_SCORED)
    for channel, lists, hits in _CHANNELS:
        if (scored or given_of(hits)) and f"{channel}_hits" not in wanted:
            for name in (f"{corpus}.{channel}_search" for corpus in corpora):
                instead[name] = searched(name, frames.empty(lists))
    if given_of(frames.VECTOR_LISTS, frames.VECTOR_HITS, frames.LINKED_HITS) or scored:
        instead["linked_outcome"] = frames.empty(frames.OUTCOMES)
        if "linked_hits" not in wanted:
            instead["linked_hits"] = frames.empty(frames.LINKED_HITS)
    if given_of(frames.READ_CHUNKS, frames.UNIFIED):
        instead["chunks_outcome"] = frames.empty(frames.OUTCOMES)
    if scored:
        ids = pl.concat(_chunks_of(given[name]) for name in scored).unique(maintain_order=True)
        listed = ids.with_columns(rank=pl.lit(0), distance=pl.lit(None))
        instead["vector_hits"] = listed.cast(frames.VECTOR_HITS)
        instead["text_hits"] = frames.empty(frames.TEXT_HITS)
    if given_of(frames.UNIFIED):
        behind = (frames.MERGED, frames.DEDUPED)
        instead |= {name: frames.empty(of) for name, of in frames_of.items() if of in behind}
    return instead


def _chunks_of(hits: pl.DataFrame) -> pl.DataFrame:
    """The chunks that rows of a list name: query_id, corpus and chunk_id."""
    key = ["query_id", "corpus", "chunk_id"]
    if "alternate_sources" not in hits.columns:
        return hits.select(key)
    lists = hits.select("query_id", "alternate_sources")
    copies = lists.explode("alternate_sources", empty_as_null=False, keep_nulls=False)
    return pl.concat([hits.select(key), copies.unnest("alternate_sources").select(key)])
