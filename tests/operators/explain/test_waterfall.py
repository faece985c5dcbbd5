from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest

from operators.explain.waterfall import spell, waterfall
from operators.frames import EXPLAIN


def told(*rows: tuple[str, str, float]) -> pl.DataFrame:
    plain = {"query_id": 0, "chunk_id": 1, "rank": 0}
    named = [{**plain, "stage": s, "quantity": q, "value": v} for s, q, v in rows]
    for row in named:
        of_all = row["quantity"] == "score" and row["stage"] not in ("text", "merged", "deduped")
        row["detail"] = "A list of all corpora." if of_all else None
    return pl.DataFrame(named, schema=EXPLAIN)


FACTORS = [
    ("merged", "vector_weight", 0.5),
    ("merged", "vector_value", 0.8),
    ("merged", "text_weight", 0.5),
    ("merged", "text_value", 0.6),
    ("merged", "lexical_weight", 0.25),
    ("merged", "score", 0.475),
]


def test_a_score_goes_from_nothing_to_itself_without_a_gap() -> None:
    part = 0.475
    rows = [*FACTORS, ("fused", "part", part), ("fused", "recency", 1.15)]
    rows += [("fused", "score", part * 1.15), ("weighted", "weight", 1.2)]
    rows += [("weighted", "score", part * 1.15 * 1.2)]
    steps = waterfall(told(*rows))
    assert [step.factor for step in steps] == ["meaning", "words", "recency", "weight"]
    assert steps[0].before == 0.0
    assert all(one.after == two.before for one, two in pairwise(steps))
    assert steps[-1].after == part * 1.15 * 1.2
    rows[-1:] = [
        ("weighted", "language_weight", 1.1),
        ("weighted", "score", part * 1.15 * 1.2 * 1.1),
    ]
    *_, weight, language = waterfall(told(*rows))
    assert (weight.factor, weight.after) == ("weight", part * 1.15 * 1.2)
    assert (language.factor, language.after) == ("language_weight", part * 1.15 * 1.2 * 1.1)
    assert language.before == weight.after


def test_a_gain_gives_a_place_and_factors_alone_give_the_score() -> None:
    rows = [*FACTORS, ("fused", "part", 0.475), ("fused", "score", 0.475)]
    said = told(*rows, ("ranked", "share_of_file", 0.3), ("ranked", "score", 0.6))
    gain = pl.when(quantity="share_of_file").then(pl.lit("gain from [code: a.py]"))
    *_, last = waterfall(said.with_columns(detail=gain.otherwise("detail")))
    formula = "takes the score of its place by +0.3 share of file ([code: a.py])"
    assert (last.factor, last.after, last.formula) == ("ranked", 0.6, formula)
    by_factor = told(*rows, ("ranked", "superseded", 0.7), ("ranked", "score", 0.475 * 0.7))
    *_, last = waterfall(by_factor)
    assert (last.factor, last.after, last.formula) == ("superseded", 0.475 * 0.7, "× 0.7")


def test_a_factor_of_one_is_no_step() -> None:
    steps = waterfall(told(*FACTORS, ("fused", "part", 0.475), ("fused", "score", 0.475)))
    assert [step.factor for step in steps] == ["meaning", "words"]


def test_a_chunk_without_a_score_has_no_steps() -> None:
    assert waterfall(told()) == []


@pytest.mark.parametrize(("value", "text"), [(0.25, "0.25"), (1.0, "1"), (1 / 3, "0.333333")])
def test_numbers_are_short(value: float, text: str) -> None:
    assert spell(value) == text
