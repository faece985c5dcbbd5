from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.dates.document_date import document_date
from operators.sources.dates.html_dates import HEAD, html_dates

NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<meta name="date" content="2024-05-06">', {"date": "2024-05-06"}),
        ("<META CONTENT='2024-05-06' NAME=DC.Date>", {"date": "2024-05-06"}),
        ('<meta property="article:published_time" content="2024">', {"published": "2024"}),
        (
            '<meta http-equiv="last-modified" content="Tue, 15 Nov 1994 12:45:26 GMT">',
            {"updated": "Tue, 15 Nov 1994 12:45:26 GMT"},
        ),
        (
            '<body><time itemprop="dateModified" datetime="2020-02-02">x</time>',
            {"updated": "2020-02-02"},
        ),
        ('<time pubdate datetime="2020-02-02">', {"published": "2020-02-02"}),
        (
            '<script type="application/ld+json">{"@graph": [{"datePublished": "2019-01-01",'
            ' "dateModified": "2020-01-01"}]}</script>',
            {"updated": "2020-01-01", "published": "2019-01-01"},
        ),
        ('<meta name="date" content="1"><meta name="date" content="2">', {"date": "1"}),
    ],
)
def test_a_date_that_is_stated_for_machines_is_found(source: str, expected: dict[str, str]) -> None:
    assert html_dates(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "",
        '<!-- <meta name="date" content="2024-05-06"> -->',
        '<meta name="viewport" content="2024-05-06">',
        '<script>"<meta name=date content=2024-05-06>"</script>',
        '<meta name="date">',
        '<meta name="date" content="%s">' % ("9" * 500),
        '<script type="application/ld+json">{"dateModified": {"a": 1}}</script>',
        '<script type="application/ld+json">[[[[</script>',
        "<p>Date: 2024-05-06</p><time datetime='2024-05-06'>",
        " " * HEAD + '<meta name="date" content="2024-05-06">',
    ],
)
def test_anything_else_is_no_date(source: str) -> None:
    assert html_dates(source) == {}


def test_a_page_is_dated_by_what_names_its_change_before_its_publication() -> None:
    source = (
        '<html><head><meta property="article:published_time" content="2019-01-01T00:00:00+02:00">'
        '<meta property="article:modified_time" content="2021-03-04T01:00:00+02:00"></head>'
    )
    got = document_date("page.html", text=source, now=NOW)
    assert (got.value, got.source) == (datetime(2021, 3, 3, 23, tzinfo=UTC), "explicit")


def test_a_page_with_a_date_in_the_future_falls_back_to_the_next() -> None:
    source = '<meta name="date" content="2999-01-01"><meta name="pubdate" content="2020-01-01">'
    assert document_date("page.htm", text=source, now=NOW).value == datetime(2020, 1, 1, tzinfo=UTC)


@given(st.text(alphabet="<>!-metascript \"'=/datecontent0129", max_size=300))
def test_any_page_is_read(source: str) -> None:
    html_dates(source)


@pytest.mark.parametrize("part", ["<!--", "<meta ", "<time datetime=", "<div>", "<script>"])
def test_a_hostile_page_costs_a_moment(part: str) -> None:
    began = time.process_time()
    html_dates(part * 100_000)
    assert time.process_time() - began < 2
