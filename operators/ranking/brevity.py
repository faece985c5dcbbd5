"""The factor of a passage's length: a commit of one short line says little.

A subject of five words is near in meaning to any question that shares two of them, and BM25 takes
these two for a large part of it. Without the factor it comes before the passage that answers.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from operators.arrays.segments import Floats, positions
from operators.frames import BREVITY, empty

STEEPNESS = 0.15
"""The power of the share of words: at 16 words in full, 2 words count 73 %, 5 words 84 %."""


def brevity(chunks: pl.DataFrame, *, full_length_words: float = 0) -> pl.DataFrame:
    """``BREVITY`` of the ``chunks`` (``READ_CHUNKS``) that are shorter than ``full_length_words``.

    ``(words / full_length_words) ** 0.15``. The first word of each line but one does not count, so
    that a commit's paths, one a line, add nothing. With 0 all chunks count in full.

    >>> chunks = pl.DataFrame({"chunk_id": [7, 8], "text": ["Fix it\\n\\na.py\\nb.py", "a " * 33]})
    >>> brevity(chunks, full_length_words=16).with_columns(pl.col("brevity").round(2)).rows()
    [(7, 0.73)]
    """
    if not full_length_words or not chunks.height:
        return empty(BREVITY)
    words = 1 + pl.col("text").str.count_matches(r"\S[^\S\n]+")
    short = chunks.select("chunk_id", words.cast(pl.Float64).alias("brevity"))
    short = short.filter(pl.col("brevity") < full_length_words)
    return short.with_columns((pl.col("brevity") / full_length_words) ** STEEPNESS).cast(BREVITY)


def of_hits(hits: pl.DataFrame, brevities: Sequence[pl.DataFrame]) -> Floats:
    """The factor of each row of ``hits`` (chunk_id); 1 where no frame of ``BREVITY`` has it."""
    known = pl.concat(brevities)
    factor = np.append(known["brevity"].to_numpy(), 1.0)
    row: Floats = factor[positions(known["chunk_id"].to_numpy(), hits["chunk_id"].to_numpy())]
    return row
