"""What the stages tell of their scores, as far as it is true.

A merge and a fusion give the factors of a score beside it (:mod:`operators.frames`). A variant of
somebody's own need not, and a caller may override a stage: then the factors are null, because no
number is shown that does not add up.
"""

from collections.abc import Mapping

import polars as pl

from operators.frames import PART, SCORE_FACTORS

_KEY = ["query_id", "chunk_id"]


def merge_factors(merged: pl.DataFrame) -> pl.DataFrame:
    """Query, chunk and ``SCORE_FACTORS`` of merged lists; null where they do not give the score."""
    told = _with(merged, SCORE_FACTORS)
    vector = pl.col("vector_weight") * pl.col("vector_value")
    text = pl.col("text_weight") * (pl.col("text_value") * pl.col("lexical_weight"))
    true = vector + text == pl.col("score")
    return told.select(*_KEY, *(pl.when(true).then(name).alias(name) for name in SCORE_FACTORS))


def fusion_parts(fused: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Query, chunk and the fields of ``PART``: a chunk's own part, and all its parts.

    The parts of a chunk are in the order of their corpora, in which the fusion adds them. Parts
    that do not give the score are left out.
    """
    told = _with(fused, {"part": PART, "other_parts": pl.List(PART)})
    own = told.select(*_KEY, "score", "part").unnest("part").drop_nulls("part")
    others = told.select(*_KEY, "other_parts").explode("other_parts", empty_as_null=False)
    others = others.unnest("other_parts").drop_nulls("part")
    every = pl.concat([own.drop("score"), others]).sort("corpus", maintain_order=True)
    sums = every.group_by(_KEY, maintain_order=True).agg(sum=pl.col("part").cum_sum().last())
    true = own.join(sums, on=_KEY).filter(pl.col("sum") * pl.col("recency") == pl.col("score"))
    return true, every.join(true, on=_KEY, how="semi", maintain_order="left")


def _with(frame: pl.DataFrame, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    lacking = {name: kind for name, kind in columns.items() if name not in frame.columns}
    return frame.with_columns(pl.lit(None, kind).alias(name) for name, kind in lacking.items())
