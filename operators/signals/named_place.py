"""Who names a file and its line, a commit or an issue wants it first."""

import numpy as np
import polars as pl

from operators.ranking.named_places import PLACED, Place, leaders
from operators.signals.rule import Questions, Values, lead


@lead
def named_place(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for the best passage of each place that the question names."""
    value = np.zeros(hits.height)
    query_id = hits["query_id"].to_numpy()
    for query, asked in questions.items():
        rows = np.flatnonzero(query_id == query)
        own = hits.select(PLACED)[rows] if asked["places"] else hits[:0]
        for place in asked["places"]:
            named = Place(**{**place, "path": tuple(place["path"])})
            value[rows[leaders(named, own)[:1]]] = 1
    return value
