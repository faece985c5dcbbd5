"""Fallback values for searches that failed or are not needed, so that other corpora answer."""

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl
from hamilton.node import Node

from dataflow.execution.plan import is_field, node_tags
from operators import frames
from operators.context.search_outcomes import outcome, unsuccessful

_CHANNELS = {
    "vector": (frames.VECTOR_LISTS, frames.VECTOR_HITS),
    "text": (frames.TEXT_LISTS, frames.TEXT_HITS),
}
_SCORED = (frames.NORMALIZED, frames.MERGED, frames.UNIFIED)
"""The frames of a corpus that follow its two ranked lists."""


def stand_in(
    node: Node, error: Exception, seconds: float, frames_of: Mapping[str, pl.Schema]
) -> Any:
    """The fallback value of a node tagged ``fail_open`` that failed.

    It is None for the tag ``none``. Otherwise the frames of the node or of its fields are empty,
    except the one with the columns ``OUTCOMES``, which says what happened.

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
    empties: dict[str, pl.DataFrame] = {}
    for one in fields or [name]:
        empties[one] = frames.empty(frames_of[one])
        if frames_of[one] == frames.OUTCOMES:
            channel = one.removesuffix("_outcome")
            empties[one] = unsuccessful(corpus, channel, error, seconds * 1000)
    return empties if fields else empties[name]


def not_searched(
    given: Mapping[str, Any], corpora: Collection[str], frames_of: Mapping[str, pl.Schema]
) -> dict[str, Any]:
    """Values in place of searches whose results no node reads, because a stage is overridden.

    Args:
        given: the caller's overrides, by node.
        frames_of: the columns of the frames of a corpus's nodes, by name.

    Returns:
        Values by node: the outcome ``overridden`` for each search, and no rows for the stages of
        a corpus whose result is overridden; its chunks are read only if a stage compares them.
        Where the vector search's result is given, links add nothing to it, unless ``linked_hits``
        is asked for.
    """

    def named(*schemas: pl.Schema) -> set[str]:
        return {name for name, schema in frames_of.items() if schema in schemas}

    instead: dict[str, Any] = {}
    linked = named(frames.LINKED_HITS)
    for corpus in corpora:
        own = {
            name.partition(".")[2]: value
            for name, value in given.items()
            if name.startswith(f"{corpus}.")
        }
        of_corpus: dict[str, pl.DataFrame] = {}
        scored = named(*_SCORED) & own.keys()
        for channel, lists in _CHANNELS.items():
            if scored or named(*lists) & own.keys():
                of_corpus[f"{channel}_outcome"] = outcome(corpus, channel, "overridden")
        if named(frames.READ_CHUNKS, frames.UNIFIED) & own.keys():
            of_corpus["chunks_outcome"] = frames.empty(frames.OUTCOMES)
        near = named(*_CHANNELS["vector"]) | {"vector_search"}
        if scored or near & own.keys():
            of_corpus |= {name: frames.empty(frames.LINKED_HITS) for name in linked}
        if scored or (near | linked) & own.keys():
            of_corpus["linked_outcome"] = frames.empty(frames.OUTCOMES)
        for name in scored:
            ids = own[name].select("query_id", "chunk_id").unique(maintain_order=True)
            hits = ids.with_columns(rank=pl.lit(0), distance=pl.lit(None))
            of_corpus |= dict.fromkeys(
                named(frames.VECTOR_HITS), hits.cast(dict(frames.VECTOR_HITS))
            )
            of_corpus |= dict.fromkeys(named(frames.TEXT_HITS), frames.empty(frames.TEXT_HITS))
        if named(frames.UNIFIED) & own.keys():
            behind = named(frames.MERGED, frames.DEDUPED)
            of_corpus |= {name: frames.empty(frames_of[name]) for name in behind}
        instead |= {f"{corpus}.{name}": value for name, value in of_corpus.items()}
    return instead
