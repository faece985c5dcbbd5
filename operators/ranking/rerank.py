"""Reorders the best hits with a cross-encoder, which reads query and passage together."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, replaced
from operators.arrays.segments import places
from operators.errors import CrosscorpusError
from operators.ranking.total_order import ranked

Reranker = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""Takes pairs of a query and a passage, returns a score per pair, higher is better."""


class RerankError(CrosscorpusError, ValueError):
    """A reranker returned scores that define no order."""


def rerank(
    hits: pl.DataFrame, queries: pl.DataFrame, reranker: Reranker, *, depth: int = 50
) -> pl.DataFrame:
    """``hits`` with each query's first ``depth`` rows in the order of ``reranker``'s scores.

    The others follow in their order, with their scores, or with lower ones where the reranker's
    scale is lower: what orders by score later must not put them first. ``hits`` are ``FUSED``,
    ``queries`` ``QUERIES``; a query's texts are joined by line breaks. The reranker is called once.

    Raises:
        RerankError: the reranker returned another number of scores than pairs, or a
            score that is not a number (NaN).
    """
    hits = by_rank(hits)
    rank = places(hits["query_id"].to_numpy())
    rows = np.flatnonzero(rank < depth)
    questions = {
        query: "\n".join(texts) for query, texts in queries["query_id", "texts"].iter_rows()
    }
    head = hits["query_id", "text"][rows]
    pairs = [(questions[query], text or "") for query, text in head.iter_rows()]
    scores = np.asarray(reranker(pairs) if pairs else [], np.float64)
    if scores.shape != (len(pairs),):
        raise RerankError(f"the reranker gave {scores.shape} scores for {len(pairs)} pairs")
    if faults := int(np.isnan(scores).sum()):
        raise RerankError(
            f"the reranker gave NaN for {faults} of {len(pairs)} pairs: each needs a number"
        )
    read = ranked(hits[rows], pl.Series(scores))
    rest = replaced(hits, pl.Series("rank", rank)).filter(pl.Series(rank >= depth))
    lowest = read.group_by("query_id").agg(lowest=pl.col("score").min())
    rest = _beneath(rest.join(lowest, on="query_id", how="left", maintain_order="left"))
    return pl.concat([read, rest[read.columns]]).sort("query_id", "rank")


def _beneath(rest: pl.DataFrame) -> pl.DataFrame:
    """``rest`` with scores below ``lowest``, lowered alike, so that their differences stay."""
    score = rest["score"].to_numpy()
    limit = np.nextafter(rest["lowest"].to_numpy(), -np.inf)
    top = rest.select(pl.col("score").max().over("query_id")).to_series().to_numpy()
    lowered = np.minimum(score - np.maximum(top - limit, 0.0), limit)
    return replaced(rest, pl.Series("score", lowered))
