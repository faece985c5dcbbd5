from __future__ import annotations

from collections.abc import Callable
from typing import Any

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


def test_a_page_carries_everything_and_loads_nothing(explained: Answer, hostile: str) -> None:
    page = html.document_fromstring(explanation_page(explained(hostile)))
    assert not page.xpath("//link[@href and not(starts-with(@href, 'data:'))] | //*[@src]")
    assert not page.xpath("//script | //img | //@*[starts-with(name(), 'on')]")
    assert hostile[:9] in page.findtext(".//h1")


def test_a_score_is_a_bar_with_a_part_for_each_factor(explained: Answer) -> None:
    page = html.document_fromstring(explanation_page(explained("word")))
    (bars,) = page.find_class("bars")
    first, second = ([part.get("class") for part in li[1]] for li in bars)
    assert (first, second) == ([None, None], [None, "lost"])
    assert [li[2].text for li in bars] == ["0.750", "0.250"]
    assert [li.text for li in page.find_class("key")[0]] == ["place", "weighted"]
    assert "left: 66.67%; width: 33.33%" in bars[0][1][1].get("style")
