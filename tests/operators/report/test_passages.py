from __future__ import annotations

import json

import polars as pl

from operators.explain.waterfall import FACTORS, Step
from operators.report.passages import Passage, score_bars, used_factors


def passage(rank: int | None, *factors: str) -> Passage:
    steps = [Step(factor, 0.0, 1.0, "") for factor in factors]
    return Passage("1", {"result_rank": rank, "chunk_id": 7}, pl.DataFrame(), steps)


def test_places_are_counted_from_one_and_a_missing_passage_has_none() -> None:
    assert passage(0).place == 1
    assert passage(None).place is None


def test_the_factors_that_some_passage_has_come_in_the_order_of_the_score() -> None:
    shown = [passage(0, "meaning", "recency"), passage(1, "words")]
    assert list(used_factors(shown)) == ["meaning", "words", "recency"]


def test_every_factor_has_a_colour_in_the_picture_of_the_scores() -> None:
    drawn = Passage(
        "1",
        {"result_rank": 0, "chunk_id": 7, "source_label": "[code: a.py]", "score": 1.0},
        pl.DataFrame(),
        [Step(factor, 0.0, 1.0, "") for factor in (*FACTORS, "reranked", "mine")],
    )
    domain = score_bars([drawn]).to_dict()
    assert all(f'"{factor}"' in json.dumps(domain) for factor in (*FACTORS, "mine"))
