"""A fusion of one's own: CombMNZ (Fox and Shaw, TREC-2, 1994).

A hit's normalised scores are added, then multiplied by the number of lists that have it: two lists
that agree are better evidence than one list that is sure. The lists are the vector lists and the
text lists of all corpora. A passage lies in one corpus, so one list or two have it.
"""

import polars as pl

from operators.ranking.total_order import ranked


def fused__comb_mnz(aged_hits: pl.DataFrame, agreement: float = 1.0) -> pl.DataFrame:
    """All hits as one list: the sum of a hit's scores, times its lists to a power, times recency.

    Similarities and text scores are divided by the question's best of all corpora: no corpus has a
    scale of its own, so the best of a poor one stays poor. With ``agreement`` 0 it is CombSUM.
    """
    scores = [(1 - pl.col("vector_distance")).clip(0), pl.col("text_score")]
    scaled = [(one / one.max().over("query_id")).fill_nan(0).fill_null(0) for one in scores]
    lists = pl.sum_horizontal(one.is_not_null().cast(pl.Float64) for one in scores)
    score = pl.sum_horizontal(scaled) * lists.pow(agreement) * pl.col("recency")
    return ranked(aged_hits, score).drop("recency")
