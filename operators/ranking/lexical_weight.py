"""The weight of keyword scores against vector scores.

A query of a few plain words ("python convert string to date") shares them with hundreds of
passages, and chance decides which has all of them: vector search should decide. The more
words a query has, the more it means if a passage shares many. Two kinds of short queries are
different: one or two words, and names as code has them (``makeFile``, ``max_size``). Users expect
exact matches for these, and an embedding model has never seen them. Who asks why or when something
was done names it in a few words, which the commit has: commits resemble each other, so those words
decide ("when was X dropped": MRR .776 to .815 on 153 made questions, ``short`` +.003) and count
double if they are few (to .827; .821 to .848 on 81 that did not choose it).

The ranked lists say more than the query does. The keyword score counts if the best passage of
keyword search covers a share of the query as high as the best similarity of vector search.
"""

import polars as pl

from operators.frames import LEXICAL_WEIGHT

STEEPNESS = 6
"""The exponent of the share of words: at 8 words in full, 4 words count 2 %, 6 words 18 %."""

WHY_WEIGHT = 2.0
"""The factor where a query of few words asks why or since when; 1.5 and 4 were tried too."""


def lexical_weights(intent: pl.DataFrame, *, full_weight_terms: int = 8) -> pl.DataFrame:
    """The factor of each query's keyword scores, from 0 to 1, or ``WHY_WEIGHT``.

    ``min(1, words / full_weight_terms) ** 6`` with the number of its ``plain_words``
    (``INTENT``); 1 where they are null. With 0 all queries count in full. A query that
    ``asks_why`` has ``WHY_WEIGHT`` if it has no more ``words`` than ``full_weight_terms``: a longer
    one says what it means. The result is ``LEXICAL_WEIGHT``, one row per query, in order.

    >>> columns = {"query_id": [0, 1, 2], "plain_words": [4, None, None]}
    >>> said = {"words": [["print"], ["makeFile"], ["flag", "drop"]]}
    >>> asked = pl.DataFrame(columns | said | {"asks_why": [False, False, True]})
    >>> lexical_weights(asked)["lexical_weight"].round(3).to_list()
    [0.016, 1.0, 2.0]
    """
    words = intent["plain_words"].to_list() if full_weight_terms > 0 else [None] * intent.height
    weights = [1.0 if n is None else min(n / full_weight_terms, 1.0) ** STEEPNESS for n in words]
    few = intent["words"].list.len() <= full_weight_terms
    weight = pl.when(intent["asks_why"] & few).then(WHY_WEIGHT).otherwise(pl.Series(weights))
    return intent.select("query_id", lexical_weight=weight).cast(LEXICAL_WEIGHT)


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
