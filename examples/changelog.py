"""A rule of one's own: passages of a changelog count less.

A changelog has the words of every question about what changed, in sections of a line or two.
"""

import polars as pl

from operators.signals.rule import Questions, Values, factor


@factor
def changelog(hits: pl.DataFrame, questions: Questions) -> Values:
    """1 for a passage of a changelog."""
    return [float("changelog" in (path or "").lower()) for path in hits["path"]]
