from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from operators.evaluation.evaluation_frames import COMPARISON, SCORES, Evaluation
from operators.report.comparison import (
    comparison_table,
    findings,
    in_words,
    largest_differences,
    query_records,
    shortened,
    signed,
)

ROW: dict[str, Any] = {
    "config": "rrf",
    "baseline": "default",
    "measure": "nDCG@10",
    "difference": 0.02,
    "low": 0.01,
    "high": 0.03,
    "p": 0.001,
    "p_corrected": 0.004,
    "wins": 5,
    "ties": 2,
    "losses": 1,
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "better, hardly luck"),
        ({"difference": -0.02}, "worse, hardly luck"),
        ({"p_corrected": 0.049}, "better, hardly luck"),
        ({"p_corrected": 0.05}, "may be luck"),
        ({"difference": 0.0, "wins": 0, "losses": 0, "p_corrected": 1.0}, "the same for every"),
        ({"difference": 0.0, "wins": 2, "losses": 2, "p_corrected": 1.0}, "may be luck"),
    ],
)
def test_a_difference_is_called_real_by_its_corrected_p(
    changes: dict[str, Any], words: str
) -> None:
    assert in_words(ROW | changes).startswith(words)


def test_the_table_gives_every_number_of_a_row() -> None:
    frame = pl.DataFrame([ROW], schema=COMPARISON)
    parsed = html.fragment_fromstring(comparison_table(frame))
    cells = [cell.text_content() for cell in parsed.find("table/tbody/tr")]
    assert cells == [
        "rrf",
        "nDCG@10",
        "+0.020",
        "+0.010 to +0.030",
        "0.001",
        "0.004",
        "5 / 2 / 1",
        "better, hardly luck",
    ]


def test_a_finding_says_in_a_sentence_what_differs() -> None:
    said = html.fragment_fromstring(findings(pl.DataFrame([ROW], schema=COMPARISON), "nDCG@10"))
    assert said.text_content() == (
        "rrf: +0.020 in nDCG@10 against default, better than default, and hardly by luck (95 % "
        "interval +0.010 to +0.030; p = 0.004, corrected). 5 queries gained, 1 lost, 2 stayed the "
        "same."
    )


@given(st.floats(-1, 1))
def test_a_signed_number_is_never_minus_nought(value: float) -> None:
    text = signed(value)
    assert float(text.replace("−", "-")) == pytest.approx(value, abs=0.0005001)
    assert text.lstrip("+−") != "0.000" or text == "0.000"


@given(st.text(), st.integers(1, 50))
def test_a_shortened_text_is_one_line_of_at_most_that_length(text: str, most: int) -> None:
    line = shortened(text, most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1


def test_a_record_holds_a_querys_values_by_configuration_and_measure(
    plain_evaluation: Evaluation,
) -> None:
    found = plain_evaluation
    records = query_records(found.scores, found.queries, found.configs)
    one = found.scores.row(by_predicate=_row("rrf", "q3", "R@50"), named=True)
    (record,) = [r for r in records if r["q"] == "q3"]
    assert record["s"][1][1] == pytest.approx(one["value"], abs=1e-4)
    assert len(records) == found.queries.height


def _row(config: str, query: str, measure: str) -> pl.Expr:
    return (
        (pl.col("config") == config)
        & (pl.col("query_id") == query)
        & (pl.col("measure") == measure)
    )


def test_the_scale_of_a_measure_holds_the_largest_difference_of_any_configuration() -> None:
    rows = [("a", "q", "AP", 0.5), ("b", "q", "AP", 0.1), ("c", "q", "AP", 0.7)]
    frame = pl.DataFrame(rows, schema=SCORES, orient="row")
    assert largest_differences(frame, ["a", "b", "c"]) == {"AP": pytest.approx(0.4)}
    assert largest_differences(frame[:1], ["a"]) == {"AP": 1.0}
