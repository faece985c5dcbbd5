"""A question that nothing here answers is told as such."""

from __future__ import annotations

import polars as pl
import pytest

from operators.frames import NOTES, SCORE_SCALE
from operators.ranking.weak_evidence import BELOW, evidence, notes


def scale(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SCORE_SCALE)


def best(query: int, similarity: float | None, coverage: float | None, corpus: str = "code"):
    return {"query_id": query, "corpus": corpus, "similarity": similarity, "coverage": coverage}


def test_the_best_of_all_corpora_counts() -> None:
    found = evidence(scale(best(0, 0.3, 0.1), best(0, 0.2, 0.4, "docs"), best(1, 0.6, None)))
    assert found.rows() == [(0, pytest.approx(0.5)), (1, pytest.approx(0.6))]


def test_a_question_below_the_border_gets_a_note_and_no_other_does() -> None:
    said = notes(scale(best(0, 0.3, 0.1), best(1, 0.6, 0.0)), BELOW, {})
    assert said.schema == NOTES
    assert said["query_id"].to_list() == [0]
    assert "0.35, where answers have 0.54 or more" in said["note"][0]


@pytest.mark.parametrize("rows", [[best(0, None, 0.1)], []], ids=["words alone", "no corpus"])
def test_where_nothing_is_known_nothing_is_said(rows: list[dict[str, object]]) -> None:
    assert notes(scale(*rows), BELOW, {}).is_empty()


@pytest.mark.parametrize("similarity", [None, 0.1, 0.9])
def test_a_name_that_no_passage_has_is_weak_evidence(similarity: float | None) -> None:
    said = notes(scale(best(0, similarity, 0.9)), BELOW, {0: ["OPS-9", "a_b"]})
    assert said.rows() == [(0, 'weak evidence: no passage found has "OPS-9" or "a_b"')]
