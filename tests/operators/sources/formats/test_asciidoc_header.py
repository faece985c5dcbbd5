from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.formats.asciidoc_header import MAX_VALUE, asciidoc_header


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
