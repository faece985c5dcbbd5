from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import html

from operators.foundation.escape import visible
from operators.report.explanation import explanation_page

Answer = Callable[[str], dict[str, Any]]
TEXTS = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1
)


def test_every_passage_says_what_became_of_it_and_links_to_its_source(explained: Answer) -> None:
    page = html.document_fromstring(explanation_page(explained("word")))
    assert page.findtext(".//h1") == "why word?"
    text = " ".join(page.text_content().split())
    assert "R word." in text  # in the context: the reason alone
    assert "Below the last result: r word." in text
    assert "Found by no search: r word." in text
    targets = {link.get("href") for link in page.iter("a")}
    assert {"https://example.org/page", "https://example.org/copy"} <= targets


def test_a_page_carries_everything_and_loads_nothing(explained: Answer, hostile: str) -> None:
    page = html.document_fromstring(explanation_page(explained(hostile)))
    assert not page.xpath("//link[@href and not(starts-with(@href, 'data:'))] | //*[@src]")
    assert not page.xpath("//script | //img | //@*[starts-with(name(), 'on')]")
    assert hostile[:9] in page.findtext(".//h1")


def test_a_score_is_explained_factor_by_factor(explained: Answer) -> None:
    page = html.document_fromstring(explanation_page(explained("word")))
    tables = {table.findtext("caption"): table for table in page.iter("table")}
    rows = [[cell.text for cell in row] for row in tables["Factors"].iterfind("tbody/tr")]
    assert [(row[0], row[-1]) for row in rows] == [("place", "0.5"), ("weighted", "0.75")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_any_text_is_shown_as_it_is_and_becomes_no_element(explained: Answer, text: str) -> None:
    plain = html.document_fromstring(explanation_page(explained("word")))
    page = html.document_fromstring(explanation_page(explained(text)))
    assert [one.tag for one in page.iter()] == [one.tag for one in plain.iter()]
    assert page.findtext(".//h1") == visible(f"why {text}?")
    assert page.findtext(".//summary/..//h4/..//li/a") == visible(f"[code: {text}]")
    assert page.findtext(".//blockquote") == visible((text * 900)[:600] + "…")


def test_a_hostile_address_stays_one_attribute(explained: Answer, hostile: str) -> None:
    answer = explained("word")
    ends = answer["dispositions"].with_columns(source_url=pl.lit(hostile))
    page = html.document_fromstring(explanation_page({**answer, "dispositions": ends}))
    assert visible(hostile) in {link.get("href") for link in page.iter("a")}
    assert not page.xpath("//script | //img | //@*[starts-with(name(), 'on')]")


def test_a_page_may_load_nothing(explained: Answer) -> None:
    page = html.document_fromstring(explanation_page(explained("word")))
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'")
    assert page.get("lang") == "en"
