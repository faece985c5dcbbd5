"""A filter on dates: passages older than a number of days are left out, everywhere.

It is a variant of ``reranked``, because `results` and the context read what comes behind it. So the
list, the context, its citations and the model's text all lack the old passages. The searches came
before it: it takes from the hits that they have, and does not search deeper. Near-duplicates within
a corpus are one hit by then, and the date of the best one decides.
"""

from datetime import datetime

import polars as pl

from operators.ranking.recency import DAY_US, ages


def reranked__recent(
    ranked: pl.DataFrame,
    queries: pl.DataFrame,
    now: datetime | None = None,
    recent_days: float = 365.0,
) -> pl.DataFrame:
    """The list without passages older than ``recent_days``; those without a known date stay.

    The clock is ``now``; without it, the ``as_of`` of the question; without both, the present.
    """
    age_us = pl.Series(ages(ranked, queries, now))
    return ranked.filter(age_us <= recent_days * DAY_US)
