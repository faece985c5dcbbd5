"""How likely the first hits answer the query: strong, partial or weak evidence.

Whether a collection says anything about a query is a matter of how near its best passage is
(:mod:`operators.ranking.weak_evidence`). Above that threshold two other signs say more, on each of
nine judged sets: the nearest passage stands out from the tenth, and the first ten passages are of
few documents. Weights and threshold were chosen on six of the sets, the weight of nearness by
queries for one project that were given to another; benchmarks/notes has the reliability.
"""

from collections.abc import Collection

import polars as pl

from operators.frames import EVIDENCE
from operators.ranking.weak_evidence import evidence

STRONG, PARTIAL, WEAK = "strong", "partial", "weak"

STRONG_FROM = 0.44
"""The threshold of :func:`sureness`."""

_FIRST = 10
_NEAR = 0.3
_A_DOCUMENT = 0.02


def evidence_levels(
    hits: pl.DataFrame,
    scale: pl.DataFrame,
    weak: Collection[int],
    exact: Collection[int],
    strong_from: float,
) -> pl.DataFrame:
    """``EVIDENCE`` for each query of ``hits`` (``FUSED``).

    Args:
        hits: the list that results are cut from.
        scale: ``SCORE_SCALE``.
        weak: the queries whose evidence is weak.
        exact: the queries of :func:`operators.signals.exact_phrase.said_exactly`: strong.
        strong_from: of :func:`sureness`.
    """
    strong = pl.col("sureness") >= strong_from
    strong |= pl.col("query_id").is_in(list(exact))
    above = pl.when(strong).then(pl.lit(STRONG)).otherwise(pl.lit(PARTIAL))
    level = pl.when(pl.col("query_id").is_in(list(weak))).then(pl.lit(WEAK)).otherwise(above)
    return sureness(hits, scale).with_columns(evidence=level.cast(pl.String)).select(*EVIDENCE)


def level_of_one(levels: pl.DataFrame) -> str | None:
    """The level of a single query, of ``EVIDENCE``; None if it is not known."""
    return next(iter(levels["evidence"]), None)


def sureness(hits: pl.DataFrame, scale: pl.DataFrame) -> pl.DataFrame:
    """Columns query_id and sureness: ``.3 * E + (S1 - S10) + .02 * (10 - D)``.

    ``E`` is the :func:`evidence` of ``scale``, ``S1`` and ``S10`` are the similarities of the
    nearest and of the tenth nearest hit, ``D`` is the number of documents of the first ten hits.
    Null if fewer than ten hits have a similarity.
    """
    near = pl.col("vector_distance").drop_nulls().sort().head(_FIRST)
    document = pl.struct("corpus", "repo", "document_id")
    documents = document.sort_by("rank").head(_FIRST).n_unique().cast(pl.Int64)
    value = near.max() - near.min() + _A_DOCUMENT * (_FIRST - documents)
    enough = near.len() == _FIRST
    by_query = hits.group_by("query_id", maintain_order=True)
    apart = by_query.agg(apart=pl.when(enough).then(value))
    both = apart.join(evidence(scale), on="query_id", how="left", maintain_order="left")
    return both.select("query_id", sureness=_NEAR * pl.col("evidence") + pl.col("apart"))
