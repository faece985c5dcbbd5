"""Stand-ins for searches that failed or need not run, so that the other corpora still answer."""

from collections.abc import Collection, Mapping
from typing import Any

import polars as pl
from hamilton.node import Node

from dataflow.execution.plan import is_field, node_tags
from operators import frames
from operators.context.search_outcomes import outcome, unsuccessful
from operators.dedup.token_index import index_tokens

_SCORED = {"normalized", "merged", "unified"}
"""Nodes of a corpus behind its two lists."""


def stand_in(
    node: Node, error: Exception, seconds: float, frames_of: Mapping[str, pl.Schema]
) -> Any:
    """The value of a node tagged ``fail_open`` that failed, so that the others still answer.

    With the tag ``none`` it is None. Else its frames, or those of its fields, are empty, and one of
    the columns ``OUTCOMES`` says what happened.

    Args:
        frames_of: the columns of the frames of nodes, by a node's name without its corpus.

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


def not_searched(given: Mapping[str, Any], corpora: Collection[str]) -> dict[str, Any]:
    """Values in place of searches whose results nothing reads, because a stage is overridden.

    Args:
        given: what the caller overrides, by node.

    Returns:
        Values by node: the outcome ``overridden`` in place of a search, and no rows in place of
        the stages of a corpus whose answer is given; its chunks are read only for a stage that
        compares their vectors.
    """
    instead: dict[str, Any] = {}
    for corpus in corpora:
        own = {
            name.partition(".")[2]: value
            for name, value in given.items()
            if name.startswith(f"{corpus}.")
        }
        for channel in ("vector", "text"):
            if own.keys() & {f"{channel}_lists", f"{channel}_hits", *_SCORED}:
                instead[f"{corpus}.{channel}_outcome"] = outcome(corpus, channel, "overridden")
        if own.keys() & {"chunks", "unified"}:
            instead[f"{corpus}.chunks_outcome"] = frames.empty(frames.OUTCOMES)
        for name in _SCORED & own.keys():
            ids = own[name].select("query_id", "chunk_id").unique(maintain_order=True)
            hits = ids.with_columns(rank=pl.lit(0), distance=pl.lit(None))
            instead[f"{corpus}.vector_hits"] = hits.cast(dict(frames.VECTOR_HITS))
            instead[f"{corpus}.text_hits"] = frames.empty(frames.TEXT_HITS)
        if "unified" in own:
            instead |= {
                f"{corpus}.merged": frames.empty(frames.MERGED),
                f"{corpus}.deduped": frames.empty(frames.DEDUPED),
                f"{corpus}.token_index": index_tokens(frames.empty(frames.READ_CHUNKS)),
            }
    return instead
