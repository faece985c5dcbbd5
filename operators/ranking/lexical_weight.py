"""The weight of keyword scores against vector scores.

A query of a few plain words ("python convert string to date") shares them with hundreds of
passages, and chance decides which has all of them: vector search should decide. The more
words a query has, the more it means if a passage shares many. Two kinds of short queries are
different: one or two words, and names as code has them (``makeFile``, ``max_size``). Users expect
exact matches for these, and an embedding model has never seen them.

The ranked lists say more than the query does. The keyword score counts if the best passage of
keyword search covers a share of the query as high as the best similarity of vector search.
"""

import polars as pl

from operators.foundation import tokenizer
from operators.frames import LEXICAL_WEIGHT

LOOKED_UP = 2
"""A query of up to so many words is an exact lookup."""

STEEPNESS = 6
"""The exponent of the share of words: at 8 words in full, 4 words count 2 %, 6 words 18 %."""


def lexical_weights(queries: pl.DataFrame, *, full_weight_terms: int = 8) -> pl.DataFrame:
    """The factor of each query's keyword scores, from 0 to 1.

    ``min(1, words / full_weight_terms) ** 6`` with the number of its different words, without stop
    words; 1 for a query of one or two words, or with a name as code has them. If a query has
    several texts, the highest counts. With 0 all queries count in full.

    The result is ``LEXICAL_WEIGHT``, one row per query, in the order of ``queries`` (``QUERIES``).

    >>> round(text_weight("how to print without a new line", 8), 3), text_weight("makeFile leak", 8)
    (0.016, 1.0)
    """
    factors = [
        max((text_weight(text or "", full_weight_terms) for text in texts or ()), default=1.0)
        for texts in queries["texts"].to_list()
    ]
    return pl.DataFrame(
        [queries["query_id"], pl.Series("lexical_weight", factors, pl.Float64)],
        schema=LEXICAL_WEIGHT,
    )


def text_weight(text: str, full_weight_terms: int) -> float:
    """The factor of one text; reading stops once the factor is known."""
    if full_weight_terms <= 0:
        return 1.0
    words = set()
    for word in tokenizer.words(text):
        if tokenizer.is_name(word):
            return 1.0
        if word.lower() not in tokenizer.STOP_WORDS:
            words.add(word.lower())
        if len(words) >= max(full_weight_terms, LOOKED_UP + 1):
            return 1.0
    share = min(len(words) / full_weight_terms, 1.0)
    return 1.0 if len(words) <= LOOKED_UP else float(share**STEEPNESS)


def match_weights(prior: pl.DataFrame, scale: pl.DataFrame, *, margin: float) -> pl.DataFrame:
    """The lexical weight of each query, raised if keyword search has an equally good match.

    ``max(prior, min(1, 1 + (C - V) / margin))``: ``C`` is the share of the query that the best
    passage of all corpora covers, ``V`` the similarity of the nearest one. So keywords count a
    little as soon as ``C`` is within ``margin`` of ``V``; with 0 only ``prior`` counts. ``prior``
    and the result are ``LEXICAL_WEIGHT``, ``scale`` is ``SCORE_SCALE``.
    """
    if not margin:
        return prior
    near = pl.col("similarity").filter(pl.col("space").is_null()).max()
    best = scale.group_by("query_id").agg(near=near, covered=pl.col("coverage").max())
    # times the reciprocal: Polars divides so, except a column of one value (a batch of one query)
    raised = (1 + (pl.col("covered") - pl.col("near")) * (1 / margin)).clip(0, 1)
    weight = pl.max_horizontal("lexical_weight", raised)
    known = prior.join(best, on="query_id", how="left", maintain_order="left")
    return known.select("query_id", lexical_weight=weight)
