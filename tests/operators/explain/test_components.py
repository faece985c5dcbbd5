from __future__ import annotations

import polars as pl

from operators.explain.components import merge_by_rank, merge_by_score
from operators.frames import MERGE_COMPONENTS, TEXT_HITS, VECTOR_HITS, check
from operators.ranking import merge

VECTOR = pl.DataFrame([(0, 1, 0, 0.1), (0, 2, 1, 0.4)], schema=VECTOR_HITS, orient="row")
TEXT = pl.DataFrame([(0, 2, 0, 7.0), (0, 3, 1, 2.0)], schema=TEXT_HITS, orient="row")
FACTORS = pl.col("vector_weight") * pl.col("vector_value") + pl.col("text_weight") * pl.col(
    "text_value"
) * pl.col("lexical_weight")


def test_the_factors_of_reciprocal_ranks_give_the_merged_score() -> None:
    merged = merge.rrf(VECTOR, TEXT)
    found = merge_by_rank(merged)
    check(found, MERGE_COMPONENTS, "components")
    both = found.join(merged, on=["query_id", "chunk_id"])
    assert both.select(FACTORS.eq(pl.col("score")).all()).item()


def test_the_factors_of_a_convex_combination_give_the_merged_score() -> None:
    merged = merge.convex(VECTOR, TEXT, vector_weight=0.3, vector_norm="max", text_norm="max")
    found = merge_by_score(merged, vector_weight=0.3, vector_norm="max", text_norm="max")
    both = found.join(merged, on=["query_id", "chunk_id"])
    assert both.select(FACTORS.eq(pl.col("score")).all()).item()


def test_a_score_that_a_caller_overrode_has_no_factors() -> None:
    merged = merge.rrf(VECTOR, TEXT).with_columns(score=pl.lit(9.0))
    found = merge_by_rank(merged)
    assert found["vector_value"].null_count() == found.height
