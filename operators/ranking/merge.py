"""The vector list and the text list of one corpus made one list.

Reciprocal rank fusion after Cormack, Clarke and Buettcher (SIGIR 2009): the sum over the lists of
``1 / (k + rank)``, with rank 0-based. It needs no scores and treats both lists alike; if one
list is much better, a convex combination of scores does better. A chunk counts once a list, at its
best rank.

Each merge returns ``MERGED`` and the ``SCORE_FACTORS`` that make the score: one row a query and
chunk, in the one order, ``rank`` its place in it.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from operators.arrays.rows import nullable
from operators.arrays.segments import Column, Floats, Integers, changes, places, starts
from operators.frames import MERGED, SCORE_FACTORS, empty, frame_of
from operators.ranking.lexical_weight import of_rows
from operators.ranking.normalization import normalise
from operators.ranking.total_order import permutation

_FACTORED = pl.Schema({**MERGED, **SCORE_FACTORS})


def rrf(vector_hits: pl.DataFrame, text_hits: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """``1 / (rrf_k + vector rank) + 1 / (rrf_k + text rank)``; a list without the chunk adds 0.

    Args:
        vector_hits, text_hits: columns ``VECTOR_HITS`` and ``TEXT_HITS``.
        rrf_k: above 0; the larger, the less the first ranks stand out.

    >>> near = pl.DataFrame(
    ...     {"query_id": 0, "chunk_id": [1, 2], "rank": [0, 1], "distance": [0.2, 0.6]}
    ... )
    >>> text = pl.DataFrame({"query_id": [0], "chunk_id": [2], "rank": [0], "score": [9.0]})
    >>> rrf(near, text, rrf_k=1)["chunk_id", "score"].rows()
    [(2, 1.5), (1, 1.0)]
    """
    both = _align(vector_hits, text_hits)
    vector, text = reciprocal(both.vector_rank, rrf_k), reciprocal(both.text_rank, rrf_k)
    return _merged(both, 1, vector, 1, text, 1)


def weighted_rrf(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    *,
    rrf_k: float = 60,
    vector_weight: float = 0.5,
) -> pl.DataFrame:
    """As :func:`rrf`, the vector list times ``vector_weight``, the text list times the rest.

    Args:
        vector_hits, text_hits, rrf_k: as for :func:`rrf`.
        vector_weight: 0 to 1.

    >>> near = pl.DataFrame({"query_id": [0], "chunk_id": [1], "rank": [0], "distance": [0.2]})
    >>> text = pl.DataFrame({"query_id": [0], "chunk_id": [2], "rank": [0], "score": [9.0]})
    >>> weighted_rrf(near, text, rrf_k=1, vector_weight=0.75)["chunk_id", "score"].rows()
    [(1, 0.75), (2, 0.25)]
    """
    share = check_share(vector_weight)
    both = _align(vector_hits, text_hits)
    vector, text = reciprocal(both.vector_rank, rrf_k), reciprocal(both.text_rank, rrf_k)
    return _merged(both, share, vector, 1 - share, text, 1)


def convex(
    vector_hits: pl.DataFrame,
    text_hits: pl.DataFrame,
    lexical_weight: pl.DataFrame | None = None,
    *,
    vector_weight: float = 0.5,
    vector_norm: str = "min_max",
    text_norm: str = "min_max",
) -> pl.DataFrame:
    """``w * norm(1 - distance) + (1 - w) * norm(text score)``: a convex combination.

    Each list is normalised a query by itself; a chunk absent from a list gets 0 there. With the
    norm ``max`` the minimum is the theoretical one (Bruch, Gai, Ingber, TOIS 2023).

    Args:
        vector_hits, text_hits: as for :func:`rrf`.
        lexical_weight: ``LEXICAL_WEIGHT``, a factor of each query's text scores; None: 1.
        vector_weight: ``w``, 0 to 1.
        vector_norm, text_norm: of :mod:`operators.ranking.normalization`.

    >>> near = pl.DataFrame({"query_id": [0], "chunk_id": [1], "rank": [0], "distance": [0.25]})
    >>> text = pl.DataFrame({"query_id": [0], "chunk_id": [1], "rank": [0], "score": [9.0]})
    >>> convex(near, text, vector_norm="raw", text_norm="max")["score"].to_list()
    [0.875]
    """
    share = check_share(vector_weight)
    both = _align(vector_hits, text_hits)
    begins = starts(both.query_id)
    vector = normalise(vector_norm, 1 - both.vector_distance, begins)
    text = normalise(text_norm, both.text_score, begins)
    return _merged(both, share, vector, 1 - share, text, of_rows(lexical_weight, both.query_id))


def reciprocal(rank: Column, rrf_k: float) -> Floats:
    """``1 / (rrf_k + rank)``, 0 where ``rank`` is NaN.

    Raises:
        ValueError: ``rrf_k`` is not above 0; ranks begin at 0.
    """
    if not rrf_k > 0:
        raise ValueError(f"rrf_k must be above 0, because ranks begin at 0; got {rrf_k}")
    score: Floats = 1.0 / (rrf_k + rank.astype(np.float64))
    score[np.isnan(score)] = 0.0
    return score


def check_share(vector_weight: float) -> float:
    """``vector_weight`` if it is a share; raises ValueError outside of 0 to 1."""
    if not 0 <= vector_weight <= 1:
        raise ValueError(f"vector_weight must be from 0 to 1, got {vector_weight}")
    return vector_weight


@dataclass(frozen=True)
class _Aligned:
    """Both lists side by side, one entry a query and chunk, by query; NaN where absent."""

    query_id: Column
    chunk_id: Integers
    vector_rank: Floats
    vector_distance: Floats
    text_rank: Floats
    text_score: Floats


def _align(vector_hits: pl.DataFrame, text_hits: pl.DataFrame) -> _Aligned:
    lists = (vector_hits, text_hits)
    query_id = np.concatenate([hits["query_id"].to_numpy() for hits in lists])
    chunk_id = np.concatenate([hits["chunk_id"].to_numpy() for hits in lists])
    rank = np.concatenate([hits["rank"].to_numpy() for hits in lists])
    value = np.concatenate([vector_hits["distance"].to_numpy(), text_hits["score"].to_numpy()])
    from_text = np.arange(len(rank)) >= vector_hits.height

    # the best rank comes first within query, chunk and list
    order = np.lexsort((rank, from_text, chunk_id, query_id))
    query_id, chunk_id, from_text = query_id[order], chunk_id[order], from_text[order]
    another = changes(query_id, chunk_id)
    once = another | changes(from_text)
    place = np.cumsum(another) - 1

    columns = np.full((4, int(another.sum())), np.nan)
    for first, in_list in ((0, ~from_text), (2, from_text)):
        chosen = np.flatnonzero(once & in_list)
        columns[first, place[chosen]] = rank[order[chosen]]
        columns[first + 1, place[chosen]] = value[order[chosen]]
    return _Aligned(query_id[another], chunk_id[another], *columns)


def _merged(both: _Aligned, *factors: float | Floats) -> pl.DataFrame:
    """The merged list by its ``SCORE_FACTORS``, each a number or one a row."""
    if not len(both.query_id):
        return empty(_FACTORED)
    made = [np.broadcast_to(np.float64(one), len(both.query_id)) for one in factors]
    vector_weight, vector, text_weight, text, words = made
    score = vector_weight * vector + text_weight * (text * words)
    order = permutation(both.query_id, score, both.vector_rank, both.text_rank, both.chunk_id)
    query_id = both.query_id[order]
    return frame_of(
        [
            pl.Series("query_id", query_id, pl.UInt32),
            pl.Series("chunk_id", both.chunk_id[order], pl.Int64),
            pl.Series("rank", places(query_id)),
            pl.Series("score", score[order]),
            nullable("vector_rank", both.vector_rank[order], pl.UInt32),
            nullable("vector_distance", both.vector_distance[order], pl.Float64),
            nullable("text_rank", both.text_rank[order], pl.UInt32),
            nullable("text_score", both.text_score[order], pl.Float64),
            *(pl.Series(name, one[order]) for name, one in zip(SCORE_FACTORS, made, strict=True)),
        ]
    )
