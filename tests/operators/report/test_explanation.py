from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from lxml import html

from operators.report.explanation import explanation_page

Answer = Callable[[str], dict[str, Any]]


def test_every_passage_says_what_became_of_it_and_links_to_its_source(explained: Answer) -> None:
    page = html.document_fromstring(explanation_page(explained("word")))
    assert page.findtext(".//h1") == "why word?"
    text = " ".join(page.text_content().split())
    assert "R word." in text  # in the context: the reason alone
    assert "Below the last result: r word." in text
    assert "Found by no search: r word." in text
    targets = {link.get("href") for link in page.iter("a")}
    assert {"https://example.org/page", "https://example.org/copy"} <= targets


def test_results_are_numbered_and_what_was_asked_about_is_lettered(explained: Answer) -> None:
    page = html.document_fromstring(explanation_page(explained("word")))
    named = [
        one.findtext("strong") for one in page.iter("summary") if one.find("strong") is not None
    ]
    assert named == ["A", "B", "1"]
    assert [s.get("id") for s in page.iter("section")] == [
        *("scores", "stages", "asked-about", "results", "searches", "settings")
    ]


def test_a_page_carries_everything_and_loads_nothing(explained: Answer, hostile: str) -> None:
    page = html.document_fromstring(explanation_page(explained(hostile)))
    assert not page.xpath("//link[@href and not(starts-with(@href, 'data:'))] | //*[@src]")
    assert hostile[:9] in page.findtext(".//h1")


def test_an_answer_without_a_passage_is_a_page_without_charts(explained: Answer) -> None:
    answer = explained("word")
    for name in ("results", "explain", "dispositions"):
        answer[name] = answer[name].clear()
    page = html.document_fromstring(explanation_page(answer))
    assert not page.find_class("chart")
    assert "0 results" in page.text_content()


def test_of_a_batch_the_first_question_is_shown(explained: Answer) -> None:
    answer = explained("word")
    other = answer["queries"].with_columns(
        query_id=pl.lit(7, pl.UInt32), texts=pl.lit(["another"], pl.List(pl.String))
    )
    answer["queries"] = pl.concat([other, answer["queries"]])
    page = html.document_fromstring(explanation_page(answer))
    assert page.findtext(".//h1") == "another"
    assert "0 results" in page.text_content()


def test_a_question_of_few_words_says_what_its_words_count_and_what_changes_it(
    explained: Answer,
) -> None:
    answer = explained("x")
    row = {"query_id": 4, "chunk_id": 1, "stage": "fused", "quantity": "lexical_weight"}
    for weight, said in ((1 / 64, "count 2% beside its meaning"), (1.0, None)):
        more = pl.DataFrame([{**row, "value": weight}], schema=answer["explain"].schema)
        page = explanation_page({**answer, "explain": pl.concat([more, answer["explain"]])})
        assert ("full_weight_terms" in page) == (said is not None)
        assert said is None or said in page
