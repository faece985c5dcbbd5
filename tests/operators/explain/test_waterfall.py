from __future__ import annotations

import polars as pl

from operators.explain.waterfall import waterfall
from operators.frames import EXPLAIN


def told(*rows: tuple[str, str, float]) -> pl.DataFrame:
    plain = {"query_id": 0, "chunk_id": 1, "rank": 0}
    named = [{**plain, "stage": s, "quantity": q, "value": v} for s, q, v in rows]
    for row in named:
        of_all = row["quantity"] == "score" and row["stage"] not in ("text", "merged", "deduped")
        row["detail"] = "A list of all corpora." if of_all else None
    return pl.DataFrame(named, schema=EXPLAIN)


PARTS = [
    ("merged", "vector_part", 0.4),
    ("merged", "text_part", 0.075),
    ("merged", "score", 0.475),
]


def test_a_gain_gives_a_place_and_factors_alone_give_the_score() -> None:
    rows = [*PARTS, ("fused", "part", 0.475), ("fused", "score", 0.475)]
    said = told(*rows, ("ranked", "share_of_file", 0.3), ("ranked", "score", 0.6))
    gain = pl.when(quantity="share_of_file").then(pl.lit("gain from [code: a.py]"))
    *_, last = waterfall(said.with_columns(detail=gain.otherwise("detail")))
    formula = "takes the score of its place by +0.3 share of file ([code: a.py])"
    assert (last.factor, last.after, last.formula) == ("ranked", 0.6, formula)
    by_factor = told(*rows, ("ranked", "superseded", 0.7), ("ranked", "score", 0.475 * 0.7))
    *_, last = waterfall(by_factor)
    assert (last.factor, last.after, last.formula) == ("superseded", 0.475 * 0.7, "× 0.7")


def test_a_factor_of_one_is_no_step() -> None:
    steps = waterfall(told(*PARTS, ("fused", "part", 0.475), ("fused", "score", 0.475)))
    assert [step.factor for step in steps] == ["meaning", "words"]
