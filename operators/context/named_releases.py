"""Ranks a release that a query names first: its notes may share few words with the query."""

import json

import numpy as np
import polars as pl

from operators.ranking.total_order import ranked

IN_CHANGELOG = "in_changelog"
"""The metadata key of a changelog chunk that belongs to a release."""


def releases_first(hits: pl.DataFrame, scope: pl.DataFrame) -> pl.DataFrame:
    """``hits`` (``FUSED``) with the best passage of each release that ``scope`` pins at the top.

    Its score there is just above the best of its query. Other passages of the release stay.
    """
    rows = scope["query_id", "pinned"].rows()
    pins = {query: {one for of in pinned or () for one in of} for query, pinned in rows}
    score = hits["score"].to_numpy().copy()
    best: dict[int, float] = {}
    led: set[tuple[int, str, str]] = set()
    columns = hits["query_id", "document_id", "version", "metadata"].iter_rows()
    for row, (*release, metadata) in enumerate(columns) if any(pins.values()) else ():
        query, _, version = key = tuple(release)
        top = best.setdefault(query, score[row])
        named = version in pins.get(query, ()) and key not in led
        if named and IN_CHANGELOG in json.loads(metadata):
            led.add(key)
            score[row] = np.nextafter(top, np.inf)
    return ranked(hits, pl.Series(score)) if led else hits
