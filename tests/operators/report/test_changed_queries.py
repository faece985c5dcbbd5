from __future__ import annotations

import polars as pl
from lxml import html

from operators.evaluation.evaluation_frames import CHANGED, QRELS
from operators.report.changed_queries import changed_body


def test_a_document_that_was_judged_and_found_wanting_is_not_counted_as_relevant() -> None:
    row = {"query_id": "q", "config": "rrf", "text": "why?", "before": 0.5, "after": 1.0}
    lists = {"before_list": ["d2", "d1"], "after_list": ["d1", "d2"]}
    grades = [("q", f"d{number}", grade) for number, grade in enumerate((1, 0, 0, -1), 1)]
    body = changed_body(
        pl.DataFrame([row | lists], schema_overrides=CHANGED),
        pl.DataFrame(grades, schema=QRELS, orient="row"),
        "default",
        {"d1": "Close <it>"},
    )
    parsed = html.document_fromstring(str(body))
    assert "relevant documents: 1" in parsed.text_content()
    rows = [[cell.text_content() for cell in row] for row in parsed.iterfind(".//tbody/tr")]
    assert rows == [["1", "d2 ", "d1 Close <it>"], ["2", "d1 Close <it>", "d2 "]]
    assert [item.text_content() for item in parsed.find_class("hit")] == ["d1 Close <it>"] * 2
