from __future__ import annotations

import polars as pl
import pytest

from operators.explain.steps import fusion_parts, merge_factors
from operators.frames import (
    LEXICAL_WEIGHT,
    MERGED,
    SCORE_FACTORS,
    TEXT_HITS,
    UNIFIED,
    VECTOR_HITS,
    check,
)
from operators.ranking import fusion, merge
from operators.ranking.normalization import by_list, side_by_side

VECTOR = pl.DataFrame(
    [(0, "code", 1, 0, 0.1), (0, "code", 2, 1, 0.4)], schema=VECTOR_HITS, orient="row"
)
TEXT = pl.DataFrame(
    [(0, "code", 2, 0, 7.0), (0, "code", 3, 1, 2.0)], schema=TEXT_HITS, orient="row"
)
BOTH = by_list(side_by_side(VECTOR, TEXT))
ALONE = by_list(side_by_side(VECTOR, TEXT.clear()), silent={"text": ["code"]})
WORDS = pl.DataFrame([(0, 0.4)], schema=LEXICAL_WEIGHT, orient="row")


@pytest.mark.parametrize(
    "merged",
    [
        merge.rrf(BOTH),
        merge.weighted_rrf(BOTH, {"code": 0.3}),
        merge.convex(BOTH, WORDS, {"code": 0.3}),
        merge.convex(ALONE, WORDS, {"code": 0.5}),
        merge.vector_only(ALONE),
        merge.text_only(BOTH),
    ],
)
def test_the_factors_of_every_merge_give_its_score(merged: pl.DataFrame) -> None:
    check(merged, MERGED, "merged")
    assert merged.height
    assert merge_factors(merged).null_count().sum_horizontal().item() == 0


def test_a_score_that_a_caller_overrode_has_no_factors() -> None:
    merged = merge.rrf(BOTH).with_columns(score=pl.lit(9.0))
    assert merge_factors(merged)["vector_value"].null_count() == merged.height
    untold = merge_factors(merged.drop(SCORE_FACTORS))
    assert untold["vector_value"].null_count() == merged.height


def hits() -> pl.DataFrame:
    """Chunk 1 in three corpora, chunk 2 in one."""
    rows = [("a", 1, 0), ("a", 2, 1), ("b", 1, 0), ("c", 1, 0)]
    return pl.DataFrame(
        [
            {"query_id": 0, "corpus": corpus, "chunk_id": chunk, "rank": rank, "corpus_score": 0.7}
            | {"vector_distance": 0.3, "vector_rank": rank, "alternate_sources": []}
            for corpus, chunk, rank in rows
        ],
        schema=UNIFIED,
    ).with_columns(recency=pl.lit(1.15))


def test_the_parts_of_a_fused_score_give_it_in_the_order_of_the_corpora() -> None:
    own, every = fusion_parts(fusion.rrf(hits()))
    assert own["chunk_id"].to_list() == [1, 2]
    assert every.filter(chunk_id=1)["corpus"].to_list() == ["a", "b", "c"]
    assert every.filter(chunk_id=2)["part"].to_list() == [1 / 61]
    own, every = fusion_parts(fusion.comb_sum(hits()))
    assert own["recency"].to_list() == [1.15, 1.15]
    assert every.filter(chunk_id=1)["part"].to_list() == [0.7] * 3


def test_a_fusion_that_tells_nothing_or_whose_scores_are_changed_has_no_parts() -> None:
    fused = fusion.rrf(hits())
    for other in (fused.drop("part", "other_parts"), fused.with_columns(score=pl.lit(9.0))):
        own, every = fusion_parts(other)
        assert own.height == every.height == 0
