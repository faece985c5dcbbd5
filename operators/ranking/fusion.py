"""The lists of all corpora made one list.

``rrf``: each corpus's list counts by its ranks, so that no scale needs to be shared, and every
corpus's first is worth the same. ``score``: each corpus's merged score as it is, for corpora whose
merge puts scores on one scale.

Both take ``hits``: the ``UNIFIED`` rows of all corpora and the column ``recency``, the factor of a
row's age; they return ``FUSED``. The same chunk in the lists of several corpora is one row, that of
its best rank; its scores add up in the order of the rows, and the others become alternates.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from operators.dedup.survivors import absorb
from operators.ranking.merge import reciprocal
from operators.ranking.order import Floats, Integers, ranked


def fuse_rrf(hits: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """The sum over the corpora of ``1 / (rrf_k + rank in the corpus)``, times ``recency``."""
    return _fused(hits, reciprocal(hits["rank"].to_numpy(), rrf_k))


def fuse_score(hits: pl.DataFrame) -> pl.DataFrame:
    """The corpora's merged scores as they are, times ``recency``."""
    return _fused(hits, hits["rrf_score"].fill_null(0.0).to_numpy())


def _fused(hits: pl.DataFrame, score: Floats) -> pl.DataFrame:
    same = _same_chunk(hits)
    if same is not None:
        sums = np.bincount(same, score, minlength=len(score))
        score = np.where(same == np.arange(len(score)), sums, 0.0)
    score = score * hits["recency"].to_numpy()
    columns = [name for name in hits.columns if name != "recency"]
    if same is None:
        return ranked(hits[columns], score)
    survivors = absorb(hits[columns].hstack([pl.Series("score", score)]), same)
    return ranked(survivors, survivors["score"].to_numpy())


def _same_chunk(hits: pl.DataFrame) -> Integers | None:
    """For each row the row that stands for its query and chunk; None where all are distinct."""
    query_id, chunk_id = hits["query_id"].to_numpy(), hits["chunk_id"].to_numpy()
    key = np.sort(chunk_id.astype(np.uint64) ^ (query_id.astype(np.uint64) << np.uint64(32)))
    if (key[1:] != key[:-1]).all():
        return None
    order = np.lexsort((hits["rank"].to_numpy(), chunk_id, query_id))
    another = np.ones(len(order), bool)
    another[1:] = (query_id[order][1:] != query_id[order][:-1]) | (
        chunk_id[order][1:] != chunk_id[order][:-1]
    )
    stands = np.empty(len(order), np.int64)
    stands[order] = order[another][np.cumsum(another) - 1]
    return stands
