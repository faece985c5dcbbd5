from __future__ import annotations

from lxml import html

from operators.evaluation.evaluation_frames import Evaluation
from operators.report.evaluation import report_page


def test_a_report_shows_all_that_was_found(plain_evaluation: Evaluation) -> None:
    parsed = html.document_fromstring(report_page(plain_evaluation))
    assert [heading.text for heading in parsed.iter("h2")] == [
        "Scores",
        "Against default",
        "What changed most",
        "How to read this",
    ]
    captions = [caption.text for caption in parsed.iter("caption")]
    assert [caption.partition(",")[0] for caption in captions[:2]] == [
        "Means", "Every configuration against default",
    ]  # fmt: skip
    assert not list(parsed.iter("script"))
    assert "a note" in parsed.text_content()


def test_a_report_loads_nothing_and_links_only_within_itself(
    hostile_evaluation: Evaluation,
) -> None:
    parsed = html.document_fromstring(report_page(hostile_evaluation))
    for node in parsed.iter():
        for name in ("src", "href", "action", "data", "poster", "srcset", "formaction"):
            target = node.get(name)
            assert target is None or target.startswith(("#", "data:,")), (node.tag, target)
    style = parsed.findtext(".//style")
    assert "@import" not in style
    assert "url(" not in style


def test_no_hostile_content_becomes_an_element(
    hostile_evaluation: Evaluation, plain_evaluation: Evaluation
) -> None:
    text = report_page(hostile_evaluation)
    parsed = html.document_fromstring(text)
    assert not list(parsed.iter("img"))
    assert all(link.get("href", "").startswith("#") for link in parsed.iter("a"))
    known = {node.tag for node in html.document_fromstring(report_page(plain_evaluation)).iter()}
    assert {node.tag for node in parsed.iter()} == known
    handlers = [a for node in parsed.iter() for a in node.attrib if a.startswith("on")]
    assert not handlers
    assert "\u202e" not in text
    assert "\u200b" not in text
