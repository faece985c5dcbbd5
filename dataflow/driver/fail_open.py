"""Stand-ins for searches that failed or need not run, so that the other corpora still answer."""

from collections.abc import Collection, Mapping
from typing import Any

from hamilton.node import Node

from operators import frames
from operators.context.search_outcomes import outcome, unsuccessful
from operators.dedup.token_index import index_tokens

_RESULTS = {
    "vector_search": ("vector", "vector_lists", frames.VECTOR_LISTS),
    "text_search": ("text", "text_lists", frames.TEXT_LISTS),
    "read_chunks": ("chunks", "chunks", frames.READ_CHUNKS),
}


_SCORED = {"normalized", "merged", "unified"}
"""Nodes of a corpus behind its two lists."""


def failed_search(
    node: Node, error: Exception, seconds: float, homes: Mapping[str, Any] | None = None
) -> Any:
    """An empty result and an outcome that says what happened, for what reads a corpus.

    ``known_versions`` becomes None, which a note reports; notes become empty. A collection that
    can't be read is taken to have the corpus: its searches say what fails.

    Raises:
        Exception: ``error`` itself, if the node is no search.
    """
    if node.name in ("known_versions", "unmet_filters", "replica_lag"):
        return None if node.name == "known_versions" else frames.empty(frames.NOTES)
    corpus, _, name = node.name.rpartition(".")
    if name == "collection" and homes:
        from operators.postgres.store import CollectionInfo

        held = homes[corpus].corpus
        return CollectionInfo(None, homes[corpus].store.space, None, {held: 1}, {held: {"": 1}})
    if name not in _RESULTS:
        raise error
    channel, result, schema = _RESULTS[name]
    outcome = unsuccessful(corpus, channel, error, seconds * 1000)
    return {result: frames.empty(schema), f"{channel}_outcome": outcome}


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
        if own.keys() & _SCORED:
            # it would read the lists
            instead[f"{corpus}.best_scores"] = frames.empty(frames.BEST_SCORES)
        if own.keys() & {"chunks", "unified"}:
            instead[f"{corpus}.chunks_outcome"] = frames.empty(frames.OUTCOMES)
        if "unified" in own:
            instead |= {
                f"{corpus}.merged": frames.empty(frames.MERGED),
                f"{corpus}.deduped": frames.empty(frames.DEDUPED),
                f"{corpus}.chunk_ids": own["unified"]["chunk_id"].unique().sort(),
                f"{corpus}.token_index": index_tokens(frames.empty(frames.READ_CHUNKS)),
            }
    return instead
