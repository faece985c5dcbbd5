from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.formats.asciidoc import (
    MAX_VALUE,
    asciidoc_header,
    asciidoc_text,
    asciidoc_title,
)
from operators.sources.formats.headings import headings


@pytest.mark.parametrize(
    ("line", "number", "date"),
    [
        ("v1.0, 2025-03-15", "1.0", "2025-03-15"),
        ("v1.0, 2025-03-15: the remark", "1.0", "2025-03-15"),
        ("1.0, 2025-03-15", "1.0", "2025-03-15"),
        ("Version 2.1.0-rc.1, March 15, 2025", "2.1.0-rc.1", "March 15, 2025"),
        ("rev 3, 2025", "3", "2025"),
        ("v1.0", "1.0", None),
        ("v1.0: a remark", "1.0", None),
        ("2025-03-15", None, "2025-03-15"),
        ("March 15, 2025", None, "March 15, 2025"),
        ("v1.0, 2025-03-15 10:30", "1.0", "2025-03-15 10:30"),
        ("v1.0, {docdate}", "1.0", "{docdate}"),
    ],
)
def test_the_revision_line_gives_number_and_date(
    line: str, number: str | None, date: str | None
) -> None:
    for author in ("A <a@b>\n", "// a comment\nA B C\n", "A <a@b>\n:toc:\n", ""):
        header = asciidoc_header(f"= T\n{author}{line}\n:k: v\n\nText.")
        assert (header.number, header.date) == (number, date)
        assert header.attributes["k"] == "v"


@pytest.mark.parametrize(
    "text",
    [
        "v1.0, 2025-03-15\n",
        "= T\n\nv1.0, 2025-03-15\n",
        "= T\nA <a@b>\n:k: v\n\nv1.0, 2025-03-15\n",
        "= T\nIn the summer of 2024, we began.\n",
        "== Section\nA\nv1.0, 2025-03-15\n",
        "",
    ],
)
def test_a_line_elsewhere_is_no_revision(text: str) -> None:
    header = asciidoc_header(text)
    assert (header.number, header.date) == (None, None)


def test_the_old_two_line_title_has_a_revision_too() -> None:
    header = asciidoc_header("The Title\n=========\nA <a@b>\nv1.0, 2025-03-15\n:date: 2020\n")
    assert header == ({"date": "2020"}, "1.0", "2025-03-15")


@pytest.mark.parametrize("fence", ["----", "....", "++++", "////", "```", "------"])
def test_h37_an_entry_within_a_block_is_not_the_documents(fence: str) -> None:
    assert asciidoc_header(f"= T\n\n{fence}\n:date: 2099-01-01\n{fence}\n").attributes == {}
    assert asciidoc_header(f"= T\n\n{fence}\n:date: 2099-01-01\n").attributes == {}
    assert asciidoc_header(f"= T\n\n{fence}\nx\n{fence}\n:date: 1\n").attributes == {"date": "1"}


def test_entries_are_taken_from_the_first_50_lines_and_the_first_of_a_name_counts() -> None:
    filler = "\n" * 47
    assert asciidoc_header(f"= T\n\n{filler}:a: 1\n:b: 2\n").attributes == {"a": "1"}
    assert asciidoc_header("\ufeff:A: 1\r\n:a: 2\r\n").attributes == {"a": "1"}


def test_a_reference_is_resolved_only_from_the_text_itself() -> None:
    text = ":on: 2024-01-15\n:revdate: {on}\n:date: {later}\n:later: 2024-01-16\n"
    assert asciidoc_header(text).attributes["revdate"] == "2024-01-15"
    assert asciidoc_header(text).attributes["date"] == "{later}"


def test_attributes_that_multiply_each_other_stay_small() -> None:
    bomb = "".join(f":a{i}: {f'{{a{i - 1}}}' * 10}\n" for i in range(1, 40))
    attributes = asciidoc_header(f":a0: {'x' * 100}\n{bomb}").attributes
    assert max(map(len, attributes.values())) <= MAX_VALUE


@settings(max_examples=100, deadline=None)
@given(st.text("=:v1.,-/a \n{}", max_size=80))
def test_any_text_has_a_header(text: str) -> None:
    assert isinstance(asciidoc_header("= T\n" + text).attributes, dict)


def test_lines_stay_where_they_are() -> None:
    source = "= T\n:a: 1\n\n// no\n\n[source,py]\n----\n:a: x\n----\n////\nno\n////\nend"
    made = asciidoc_text(source)
    assert made.split("\n") == [
        "= T",
        "",
        "",
        "",
        "",
        "",
        "----",
        ":a: x",
        "----",
        "",
        "",
        "",
        "end",
    ]


def test_links_and_references_become_their_text() -> None:
    made = asciidoc_text(
        "see <<a,b>>, <<c>>, xref:d.adoc[e], https://x.org[f] link:g.html[h,window=_blank]"
    )
    assert made == "see b, c, e, f (https://x.org) h"


def test_attributes_of_the_file_are_filled_in_and_no_others() -> None:
    assert asciidoc_text(":v: 2.1\n:w: {v}!\n{w} {other}") == "\n\n2.1! {other}"


def test_attributes_that_unfold_into_each_other_stay_small() -> None:
    bomb = ":a0: " + "x" * 50 + "\n"
    bomb += "".join(f":a{n}: {f'{{a{n - 1}}}' * 10}\n" for n in range(1, 20))
    assert len(asciidoc_text(bomb + "{a19}{a1}" * 20_000)) < 3_000_000


def test_an_include_is_never_followed() -> None:
    assert asciidoc_text("include::/etc/passwd[]") == "include::/etc/passwd[]"


def test_no_heading_is_made_from_a_block() -> None:
    text = asciidoc_text("= T\n\n----\n== no\n----\n\n====\n== no\n====\n\n== Yes\n\nOld\n---\n")
    assert [h.text for h in headings(text, "a.adoc")] == ["T", "Yes", "Old"]


def test_a_block_that_never_closes_has_no_headings_to_the_end() -> None:
    assert [h.text for h in headings("= T\n\n....\n== no\n", "a.adoc")] == ["T"]


def test_the_title_is_the_documents_else_the_first_heading() -> None:
    assert asciidoc_title("== A\n\n= B\n") == "B"
    assert asciidoc_title("== A\n") == "A"
    assert asciidoc_title("text") is None


@pytest.mark.parametrize(
    "hostile",
    ["<<" * 50_000, "[[" * 50_000, "image::" * 20_000 + "[", "{a}" * 50_000, "xref:a[" * 20_000,
     "https://" * 20_000 + "["],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_hostile_line_costs_no_more_than_a_moment(hostile: str) -> None:
    began = time.process_time()
    asciidoc_text(hostile)
    assert time.process_time() - began < 5


@given(st.text(alphabet="=-.:[]{}<>/a \n"))
def test_there_are_as_many_lines_as_before(source: str) -> None:
    assert asciidoc_text(source).count("\n") == source.count("\n")
