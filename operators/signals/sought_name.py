"""Who asks where a name is, or what it does, wants its definition first."""

from pathlib import PurePosixPath

import polars as pl

from operators.ranking.definitions import defines, flat_name
from operators.signals.rule import Questions, Values, lead


@lead
def sought_name(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for a passage that defines the name that the question seeks, 2 in a file of that name."""
    value = [0.0] * hits.height
    if not any(asked["sought"] and not asked["phrases"] for asked in questions.values()):
        return value
    columns = hits["query_id", "text", "metadata", "path"]
    for row, (query, text, metadata, path) in enumerate(columns.iter_rows()):
        name = questions[query]["sought"]
        if name and not questions[query]["phrases"] and defines(name, text, metadata):
            value[row] = 1.0 + (flat_name(PurePosixPath(path or "").stem) == flat_name(name))
    return value
