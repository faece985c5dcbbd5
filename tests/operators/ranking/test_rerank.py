from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import pytest

from operators.errors import CrosscorpusError
from operators.ranking.rerank import rerank
from operators.ranking.total_order import ranked

Make = Callable[..., pl.DataFrame]


def longest_first(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [float(len(passage)) for _, passage in pairs]


@pytest.fixture
def hits(make_hits: Make) -> pl.DataFrame:
    texts = ["a", "aaa", "aa", "aaaa"]
    return make_hits(
        *(
            {"query_id": q, "chunk_id": 10 * q + n, "rank": n, "text": text, "score": 1 - n / 10}
            for q in (0, 1)
            for n, text in enumerate(texts)
        )
    )


def test_the_head_takes_the_rerankers_order_and_the_tail_follows(
    hits: pl.DataFrame, make_queries: Make
) -> None:
    queries = make_queries({"query_id": 0}, {"query_id": 1})
    found = rerank(hits, queries, longest_first, depth=3)
    assert found["chunk_id"].to_list() == [1, 2, 0, 3, 11, 12, 10, 13]
    assert found["rank"].to_list() == [0, 1, 2, 3] * 2
    assert found["score"].to_list()[:4] == [3.0, 2.0, 1.0, 0.7]


def test_the_tail_has_lower_scores_on_whatever_scale_the_reranker_scores(
    hits: pl.DataFrame, make_queries: Make
) -> None:
    queries = make_queries({"query_id": 0}, {"query_id": 1})
    found = rerank(hits, queries, lambda pairs: [-5.0, -7.0] * 2, depth=2)
    again = ranked(found, pl.col("score"))
    assert again["chunk_id"].to_list() == found["chunk_id"].to_list()
    third, fourth = found["score"].to_list()[2:4]
    assert third < -7.0
    assert third - fourth == pytest.approx(0.1)


def test_it_sees_all_texts_of_a_question(hits: pl.DataFrame, make_queries: Make) -> None:
    seen = []

    def watch(pairs: Sequence[tuple[str, str]]) -> list[float]:
        seen.extend(pairs)
        return longest_first(pairs)

    queries = make_queries({"query_id": 0, "texts": ["a", "b"]}, {"query_id": 1})
    rerank(hits, queries, watch, depth=1)
    assert seen == [("a\nb", "a"), ("q", "a")]


def test_another_number_of_scores_is_refused(hits: pl.DataFrame, make_queries: Make) -> None:
    queries = make_queries({"query_id": 0}, {"query_id": 1})
    with pytest.raises(ValueError, match="scores for 8 pairs"):
        rerank(hits, queries, lambda pairs: [1.0])


def test_a_score_that_is_no_number_is_refused(hits: pl.DataFrame, make_queries: Make) -> None:
    queries = make_queries({"query_id": 0}, {"query_id": 1})
    with pytest.raises(CrosscorpusError, match="gave NaN for 1 of 8 pairs"):
        rerank(hits, queries, lambda pairs: [*range(7), None])  # type: ignore[list-item]
