"""The notes of a release that a question names may share few words with it."""

import json

import polars as pl

from operators.frames import IN_CHANGELOG
from operators.signals.rule import Questions, Values, lead


@lead
def named_release(hits: pl.DataFrame, questions: Questions) -> Values:
    """.5 for the best passage of a changelog on each release that the question names."""
    value = [0.0] * hits.height
    pins = {
        query: {v for of in one["pinned"] or () for v in of} for query, one in questions.items()
    }
    led: set[tuple[int, str, str]] = set()
    columns = hits["query_id", "document_id", "version", "metadata"].iter_rows()
    for row, (*release, metadata) in enumerate(columns) if any(pins.values()) else ():
        query, _, version = key = tuple(release)
        if version in pins[query] and key not in led and IN_CHANGELOG in json.loads(metadata):
            led.add(key)
            value[row] = 0.5
    return value
