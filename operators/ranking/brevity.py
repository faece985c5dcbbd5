"""The factor for short passages: a commit of one short line carries little information.

A subject of five words has a vector near any query that shares two of them, and BM25 counts these
two as a large part of it. Without the factor it ranks above the passage that answers.
"""

import polars as pl

STEEPNESS = 0.15
"""The exponent of the share of words: at 16 words in full, 2 words count 73 %, 5 words 84 %."""


def brevity(texts: pl.Series, *, full_length_words: float = 0) -> pl.Series:
    """The factor of each of ``texts``: below 1 if it is shorter than ``full_length_words``.

    ``(words / full_length_words) ** 0.15``. The first word of each line but one does not count, so
    that a commit's paths, one per line, add nothing. With 0 all texts count in full.

    >>> texts = pl.Series(["Fix it\\n\\na.py\\nb.py", "a " * 33])
    >>> brevity(texts, full_length_words=16).round(2).to_list()
    [0.73, 1.0]
    """
    if not full_length_words:
        return pl.Series("brevity", [1.0]).new_from_index(0, len(texts))
    words = (1 + texts.str.count_matches(r"\S[^\S\n]+")).cast(pl.Float64)
    factor = pl.when(pl.col("words") < full_length_words).then(
        (pl.col("words") * (1 / full_length_words)) ** STEEPNESS
    )
    return words.to_frame("words").select(brevity=factor.otherwise(1.0)).to_series()
