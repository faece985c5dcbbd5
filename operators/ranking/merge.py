"""Merges the vector list and the keyword list of each corpus: one score per hit.

Reciprocal rank fusion after Cormack, Clarke and Buettcher (SIGIR 2009): the sum over the lists of
``1 / (k + rank)``, with rank 0-based. It needs no scores and treats both lists alike; if one
list is much better, a convex combination of scores does better (Bruch, Gai and Ingber, TOIS 2023).

Each merge takes ``NORMALIZED`` and returns ``MERGED`` and the two ``SCORE_PARTS`` that make the
score: one row per query, corpus and chunk, in the total order of its corpus, with its ``rank``.
"""

from collections.abc import Mapping

import polars as pl

from operators.frames import MERGED, SCORE_PARTS, empty
from operators.ranking.total_order import ranked_in_corpora

_NOTHING = pl.lit(0.0)


def rrf(normalized: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """``1 / (rrf_k + vector rank) + 1 / (rrf_k + text rank)``; a list without the chunk adds 0.

    Args:
        normalized: columns ``NORMALIZED``; only ranks are read.
        rrf_k: above 0; the larger, the less the first ranks stand out.

    >>> from operators.frames import NORMALIZED
    >>> both = {"query_id": 0, "corpus": "wiki", "chunk_id": 2, "vector_rank": 1, "text_rank": 0}
    >>> near = {"query_id": 0, "corpus": "wiki", "chunk_id": 1, "vector_rank": 0}
    >>> hits = pl.DataFrame([near, both], schema=NORMALIZED)
    >>> rrf(hits, rrf_k=1)["chunk_id", "score"].rows()
    [(2, 1.5), (1, 1.0)]
    """
    vector, text = reciprocal("vector_rank", rrf_k), reciprocal("text_rank", rrf_k)
    return _merged(normalized, vector, text)


def weighted_rrf(
    normalized: pl.DataFrame, vector_weights: Mapping[str, float], *, rrf_k: float = 60
) -> pl.DataFrame:
    """As :func:`rrf`, the vector list times the corpus's weight, the text list times the rest."""
    share = _shares(vector_weights)
    vector, text = reciprocal("vector_rank", rrf_k), reciprocal("text_rank", rrf_k)
    return _merged(normalized, share * vector, (1 - share) * text)


def convex(
    normalized: pl.DataFrame, lexical_weight: pl.DataFrame, vector_weights: Mapping[str, float]
) -> pl.DataFrame:
    """``w * vector value + (1 - w) * (text value * words)``: a convex combination of scores.

    If the corpus has only one of both lists, the score is that list's value: otherwise all its hits
    would rank below those of corpora that have both.

    Args:
        normalized: columns ``NORMALIZED``.
        lexical_weight: ``LEXICAL_WEIGHT``: ``words``, the factor of each query's text values.
        vector_weights: ``w`` of each corpus, 0 to 1.
    """
    share = _shares(vector_weights)
    if normalized.is_empty():
        return empty(pl.Schema({**MERGED, **SCORE_PARTS}))
    hits = normalized.join(lexical_weight, on="query_id", how="left", maintain_order="left")
    no_vectors, no_text = pl.col("vector_value").is_null(), pl.col("text_value").is_null()
    weight = pl.when(no_text).then(1.0).when(no_vectors).then(0.0).otherwise(share)
    words = pl.when(no_text | no_vectors).then(1.0).otherwise(pl.col("lexical_weight").fill_null(1))
    vector, text = pl.col("vector_value").fill_null(0.0), pl.col("text_value").fill_null(0.0)
    return _merged(hits, weight * vector, (1 - weight) * (text * words))


def vector_only(normalized: pl.DataFrame) -> pl.DataFrame:
    """The vector list only, by its values."""
    hits = normalized.filter(pl.col("vector_rank").is_not_null())
    return _merged(hits, pl.col("vector_value").fill_null(0.0), _NOTHING)


def text_only(normalized: pl.DataFrame) -> pl.DataFrame:
    """The keyword list only, by its values."""
    hits = normalized.filter(pl.col("text_rank").is_not_null())
    return _merged(hits, _NOTHING, pl.col("text_value").fill_null(0.0))


def reciprocal(rank: str, rrf_k: float) -> pl.Expr:
    """``1 / (rrf_k + rank)`` of a column of ranks, 0 where it is null.

    Raises:
        ValueError: ``rrf_k`` is not above 0; ranks begin at 0.
    """
    if not rrf_k > 0:
        raise ValueError(f"rrf_k must be above 0, because ranks begin at 0; got {rrf_k}")
    return (1.0 / (rrf_k + pl.col(rank).cast(pl.Float64))).fill_null(0.0)


def _shares(vector_weights: Mapping[str, float]) -> pl.Expr:
    """The weight of each hit's vector list, by its corpus."""
    shares = {corpus: check_share(weight) for corpus, weight in vector_weights.items()}
    return pl.col("corpus").replace_strict(shares, default=None, return_dtype=pl.Float64)


def check_share(vector_weight: float) -> float:
    """``vector_weight`` if it is a share; raises ValueError outside of 0 to 1."""
    if not 0 <= vector_weight <= 1:
        raise ValueError(f"vector_weight must be from 0 to 1, got {vector_weight}")
    return float(vector_weight)


def _merged(hits: pl.DataFrame, vector_part: pl.Expr, text_part: pl.Expr) -> pl.DataFrame:
    """The merged list, ordered by the sum of both parts."""
    parts = hits.with_columns(vector_part=vector_part, text_part=text_part)
    scored = ranked_in_corpora(parts, pl.col("vector_part") + pl.col("text_part"))
    return scored.select(*MERGED, *SCORE_PARTS)
