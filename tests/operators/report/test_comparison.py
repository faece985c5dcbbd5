from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from lxml import html

from operators.evaluation.evaluation_frames import COMPARISON
from operators.report.comparison import (
    comparison_table,
    findings,
    in_words,
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
        ({"difference": -0.02}, "worse, hardly luck"),
        ({"p_corrected": 0.049}, "better, hardly luck"),
        ({"p_corrected": 0.05}, "may be luck"),
        ({"difference": 0.0, "wins": 0, "losses": 0, "p_corrected": 1.0}, "the same for every"),
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
