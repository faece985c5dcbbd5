"""A node: the variant `agreeing` of `fused` gives more to hits that both searches found."""

import polars as pl

from operators.ranking.total_order import ranked


def fused__agreeing(aged_hits: pl.DataFrame, agreement: float = 0.3) -> pl.DataFrame:
    """All hits as one list, by their corpora's scores; more where both lists have the hit."""
    both = pl.col("vector_rank").is_not_null() & pl.col("text_rank").is_not_null()
    score = pl.col("corpus_score") * (1 + agreement * both.cast(pl.Float64)) * pl.col("recency")
    return ranked(aged_hits, score).drop("recency")
