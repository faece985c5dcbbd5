"""Who asks for somebody's work wants what that person wrote."""

import polars as pl

from operators.ranking.bm25 import authors_of
from operators.ranking.named_places import is_author
from operators.signals.rule import Questions, Values, lead


@lead
def asked_author(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for a passage by an author that the question names."""
    columns = hits["query_id", "metadata"].iter_rows()
    named = ((questions[query]["authors"], metadata) for query, metadata in columns)
    return [float(bool(of) and is_author(of, authors_of(metadata))) for of, metadata in named]
