"""The hits that every ranking of the same searches shares."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from made_queries import made

from operators.evaluation.candidates import CorpusSearch, candidates
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.frames import UNIFIED


def test_the_smooth_value_of_scores_far_apart_is_ndcg_and_any_multiple_gives_the_same() -> None:
    one = made(3)
    score = np.where(one.of_hits("corpus_number") == 0, 1.0, 2.0)
    for right in (score, -score):
        assert one.smooth_ndcg(right).tolist() == pytest.approx(one.ndcg(right).tolist())
        assert one.smooth_ndcg(right * 7).tolist() == pytest.approx(one.ndcg(right).tolist())
    assert one.smooth_ndcg(score * 0).tolist() == one.ndcg(score * 0).tolist()


def test_only_judged_corpora_count_unless_all_do() -> None:
    """The hits of the other corpus are ranked, and what they push down moves up again."""
    asked, all_corpora = (made(3, judged=["code"], all_corpora=way) for way in (False, True))
    score = np.where(asked.of_hits("corpus_number") == 0, 1.0, 2.0)
    assert asked.ndcg(score).tolist() == [1.0] * 3
    assert all_corpora.ndcg(score).tolist() == pytest.approx([1 / math.log2(3)] * 3)


def test_a_document_of_two_corpora_has_its_gain_wherever_the_first_hit_is() -> None:
    row = {"query_id": 0, "document_id": "Home.md", "vector_rank": 0, "vector_distance": 0.1}
    row |= {"repo": "api", "start_line": 1, "end_line": 9}
    hits = [
        {**row, "chunk_id": n, "corpus": corpus, "recency": 1.0}
        for n, corpus in enumerate(("code", "wiki"))
    ]
    wanted = {*hits[0], "text_rank", "text_score"}
    schema = {n: t for n, t in UNIFIED.items() if n in wanted}
    question = {"query_id": "q", "number": 0, "texts": ["why"], "corpora": ["wiki"]}
    for judged, right in (("Home.md", 1.0), ("api:Home.md:9-12", 1.0), ("web:Home.md", 0.0)):
        one = candidates(
            pl.DataFrame(hits, schema={**schema, "recency": pl.Float64}),
            pl.DataFrame([question], schema=JUDGED_QUERIES),
            pl.DataFrame([("q", judged, 1)], schema=QRELS, orient="row"),
            dict.fromkeys(("code", "wiki"), CorpusSearch()),
        )
        for score in (np.ones(2), np.array([2.0, 1.0])):
            assert one.ndcg(score).tolist() == one.smooth_ndcg(score).tolist() == [right]
