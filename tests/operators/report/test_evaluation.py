from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace

from lxml import html

from operators.evaluation.evaluation_frames import Evaluation
from operators.report.evaluation import GraphDifference, report_page

FOUND = GraphDifference("~ fused: convex -> rrf")


def test_a_report_shows_all_that_was_found(plain_evaluation: Evaluation) -> None:
    parsed = html.document_fromstring(report_page(plain_evaluation, {"rrf": FOUND}))
    assert [heading.text for heading in parsed.iter("h2")] == [
        "Scores",
        "Against default",
        "Query by query",
        "What changed most",
        "Slices",
        "Where the time went",
        "The graphs",
        "How to read this",
    ]
    charts = parsed.find_class("chart")
    # 4 measures, the comparison, 2 configurations query by query, slices, time
    assert len(charts) == 4 + 1 + 2 + 1 + 1
    assert all(chart.get("data-label") for chart in charts)
    assert "a note" in parsed.text_content()


def test_the_most_changed_queries_show_both_lists_and_what_is_relevant(
    plain_evaluation: Evaluation,
) -> None:
    parsed = html.document_fromstring(report_page(plain_evaluation))
    folds = parsed.get_element_by_id("changes").findall("details")
    assert len(folds) == plain_evaluation.changed.height
    row = plain_evaluation.changed.row(0, named=True)
    before, after = folds[0].findall(".//ol")
    assert [item.find_class("id")[0].text for item in before] == row["before_list"]
    assert [item.find_class("id")[0].text for item in after] == row["after_list"]
    judged = plain_evaluation.qrels.rows_by_key(["query_id", "doc_id"])
    for place, item in enumerate(after, 1):
        document = item.find_class("id")[0].text
        assert bool(item.find_class("relevant")) == ((row["query_id"], document) in judged)
        said = item.text_content()
        if document not in row["before_list"]:
            assert said.endswith("new")
        elif row["before_list"][place - 1] != document:
            assert said.endswith(f"was {row['before_list'].index(document) + 1}")


def test_one_configuration_is_reported_without_a_comparison(
    make_evaluation: Callable[[tuple[str, ...], str], Evaluation],
) -> None:
    parsed = html.document_fromstring(report_page(make_evaluation(("default",), "")))
    headings = [heading.text for heading in parsed.iter("h2")]
    assert headings == ["Scores", "Slices", "Where the time went", "How to read this"]


def test_a_report_is_the_same_text_for_the_same_evaluation(plain_evaluation: Evaluation) -> None:
    assert report_page(plain_evaluation) == report_page(plain_evaluation)


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
    hostile_evaluation: Evaluation, plain_evaluation: Evaluation, hostile: str
) -> None:
    name = hostile_evaluation.configs[1]
    text = report_page(hostile_evaluation, {name: replace(FOUND, text=hostile)})
    parsed = html.document_fromstring(text)
    assert not list(parsed.iter("img"))
    assert all(link.get("href", "").startswith("#") for link in parsed.iter("a"))
    known = {node.tag for node in html.document_fromstring(report_page(plain_evaluation)).iter()}
    assert {node.tag for node in parsed.iter()} - known <= {"pre", "code"}
    handlers = [a for node in parsed.iter() for a in node.attrib if a.startswith("on")]
    assert not handlers
    assert "\u202e" not in text
    assert "\u200b" not in text


def test_every_heading_is_one_level_below_the_one_it_belongs_to(
    plain_evaluation: Evaluation,
) -> None:
    text = report_page(plain_evaluation, {"rrf": FOUND, "text_only": FOUND})
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", text)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
