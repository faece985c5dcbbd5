"""Dates and versions that a PDF, a page or a text states."""

from __future__ import annotations

import csv
import os
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_maker import make_pdf

from operators.foundation.date_text import DateRefused
from operators.sources.dates.document_date import document_date
from operators.sources.dates.html_dates import HEAD, html_dates
from operators.sources.dates.pdf_dates import parse_pdf_date, read_pdf_info
from operators.sources.dates.stated_version import document_version

DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", "../shared/data"))
if not DATA.is_absolute():
    DATA = Path(__file__).parents[4] / DATA
WILD = DATA / "dates" / "pdf_dates_1936.tsv"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("D:20201211105608+01'00", "2020-12-11T09:56:08"),
        ("D:20100316021332-0100", "2010-03-16T03:13:32"),
        ("D:20210529", "2021-05-29T00:00:00"),
        ("D:191000612092411", "2000-06-12T09:24:11"),
        ("D:20250315233000-08'00'", "2025-03-16T07:30:00"),
    ],
)
def test_a_pdf_date_is_read_in_the_forms_that_occur(raw: str, expected: str) -> None:
    assert parse_pdf_date(raw).strftime("%Y-%m-%dT%H:%M:%S") == expected


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("D:", "empty"),
        ("2017124", "ambiguous"),
        ("D:19700101000000+00'00'", "placeholder"),
        ("D:99991231235959-08'00'", "outside the calendar"),
    ],
)
def test_a_pdf_date_that_is_none_is_refused_with_its_reason(raw: str, why: str) -> None:
    with pytest.raises(DateRefused, match=why):
        parse_pdf_date(raw)


@pytest.mark.skipif(not WILD.is_file(), reason="the judged data are not here")
def test_every_date_in_the_wild_is_read_or_refused_with_a_reason() -> None:
    counts: Counter[str] = Counter()
    with WILD.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            for raw in (row["CreationDate"], row["ModDate"]):
                if not raw or raw.startswith("!ERR"):
                    continue
                try:
                    assert parse_pdf_date(raw).year >= 1985
                    counts["read"] += 1
                except DateRefused as exc:
                    counts[str(exc)] += 1
    assert counts == {
        "read": 2347,
        "before 1970-01-03: a placeholder": 2,
        "not a date in a form that is read": 2,  # False, False
        "7 digits: ambiguous": 1,
    }


@given(
    st.text(max_size=40) | st.from_regex(r"(D:)?[0-9]{4,16}[Z+'-]{0,2}[0-9']{0,7}", fullmatch=True)
)
def test_any_string_is_a_moment_or_refused(raw: str) -> None:
    try:
        moment = parse_pdf_date(raw)
    except DateRefused:
        return
    assert moment.tzinfo == UTC


def test_the_stored_dates_are_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    dates = {"CreationDate": "D:20200101000000Z", "ModDate": "D:20210101000000Z"}
    file.write_bytes(make_pdf(["a"], info=dates))
    assert read_pdf_info(file) == tuple(dates.values())
    file.write_bytes(make_pdf(["a"], info={"Title": "t"}))
    assert read_pdf_info(file) == (None, None)


@pytest.mark.parametrize("content", [b"", b"<html></html>", b"%PDF-1.4\n" + b"\0" * 100])
def test_a_file_that_is_no_pdf_has_no_dates(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(content)
    assert read_pdf_info(file) == (None, None)
    assert read_pdf_info(tmp_path / "missing.pdf") == (None, None)


NOW = datetime(2025, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('<meta name="date" content="2024-05-06">', {"date": "2024-05-06"}),
        (
            '<meta http-equiv="last-modified" content="Tue, 15 Nov 1994 12:45:26 GMT">',
            {"updated": "Tue, 15 Nov 1994 12:45:26 GMT"},
        ),
    ],
)
def test_a_date_that_is_stated_for_machines_is_found(source: str, expected: dict[str, str]) -> None:
    assert html_dates(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '<!-- <meta name="date" content="2024-05-06"> -->',
        '<script>"<meta name=date content=2024-05-06>"</script>',
        '<meta name="date" content="%s">' % ("9" * 500),
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


@given(st.text(alphabet="<>!-metascript \"'=/datecontent0129", max_size=300))
def test_any_page_is_read(source: str) -> None:
    html_dates(source)


@pytest.mark.parametrize("part", ["<!--", "<meta ", "<time datetime=", "<div>", "<script>"])
def test_a_hostile_page_costs_a_moment(part: str) -> None:
    began = time.process_time()
    html_dates(part * 100_000)
    assert time.process_time() - began < 2


def test_h29_front_matter_says_the_version_as_it_was_written() -> None:
    for text in ("---\nversion: 1.10\n---\n", "+++\nversion = 1.10\n+++\n"):
        assert document_version("docs/v9/a.md", text) == "1.10"
    text = "---\ntitle: a: b\nversion: v1.10\n---\n"
    assert document_version("a.md", text) == "1.10"


def test_h38_the_revision_line_says_the_version() -> None:
    text = "= T\nA <a@b>\nv1.0, 2025-03-15\n"
    assert document_version("a.adoc", text) == "1.0"
    assert document_version("a.adoc", "= T\n:revnumber: 2.0\n") == "2.0"
    assert document_version("a.md", text) is None


@pytest.mark.parametrize("value", ["{{ version }}", "a b c 1", "[1, 2]", "1" * 70])
def test_a_stated_version_that_is_none_is_passed_over(value: str) -> None:
    text = f"---\nversion: {value}\n---\n"
    assert document_version("docs/v1.2/a.md", text) == "1.2"
