"""Who names a file and its line, a commit or an issue wants it first."""

import numpy as np
import polars as pl

from operators.ranking.named_places import PLACED, Place, leaders
from operators.signals.rule import Questions, Values, lead

BARE = 0.7  # of a mere file name, below literal.SHARE: a message may have config.yml as a value


@lead
def named_place(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for the best passage of each place that the question names, ``BARE`` of a file name."""
    value = np.zeros(hits.height)
    for query, asked in questions.items():
        rows = np.flatnonzero(hits["query_id"].to_numpy() == query)
        own = hits.select(PLACED)[rows] if asked["places"] else hits[:0]
        for place in asked["places"]:
            named = Place(**{**place, "path": tuple(place["path"])})
            said = BARE if len(named.path) == 1 and not named.line else 1.0
            value[rows[leaders(named, own)[:1]]] = said
    return value
