import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.formats.headings import Heading, headings, prose_title


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# One\n\ntext\n\n## Two\n"),
        ("a.mkd", "# One\n\ntext\n\n## Two\n"),
        ("a.mediawiki", "= One =\n\ntext\n\n== Two ==\n"),
        ("a.adoc", "= One\n\ntext\n\n== Two\n"),
    ],
)
def test_headings_are_found_in_each_format(path: str, text: str) -> None:
    assert headings(text, path) == [Heading(0, 1, "One"), Heading(4, 2, "Two")]


def test_restructured_text_levels_follow_the_order_of_their_rules() -> None:
    text = "One\n===\n\ntext\n\nTwo\n---\n\nThree\n=====\n"
    assert headings(text, "a.rst") == [
        Heading(0, 1, "One"),
        Heading(5, 2, "Two"),
        Heading(8, 1, "Three"),
    ]


def test_a_hash_inside_a_code_fence_is_no_heading_even_if_the_fence_never_closes() -> None:
    assert headings("# A\n\n```\n# b\n```\n", "a.md") == [Heading(0, 1, "A")]
    assert headings("```\n# not a heading\n``` \nx\n", "a.md") == []
    assert headings("```\n# not a heading\n", "a.md") == []


def test_a_file_of_another_kind_has_no_headings() -> None:
    assert headings("# a comment\n", "a.py") == []


@given(st.text(), st.sampled_from(["a.md", "a.rst", "a.wiki", "a.adoc", "a.txt", ""]))
def test_heading_lines_rise_and_lie_inside_the_text(text: str, path: str) -> None:
    lines = [heading.line for heading in headings(text, path)]
    assert lines == sorted(set(lines))
    assert all(0 <= line <= text.count("\n") + text.count("\r") for line in lines)


def test_front_matter_is_no_heading() -> None:
    text = "---\ntitle: x\ndate: 2025-03-15\n---\n\n# A\n"
    assert headings(text, "a.md") == [Heading(5, 1, "A")]


def test_text_made_from_pdf_or_html_has_headings_after_blank_lines_alone() -> None:
    text = "# A\n\n## B\n## no\n\n    # no\n"
    expected = [Heading(0, 1, "A"), Heading(2, 2, "B")]
    assert headings(text, "a.pdf") == headings(text, "a.html") == expected


def test_old_titles_of_asciidoc_are_underlined() -> None:
    text = "Book\n====\n\nOne\n---\n\nsome text\n----\n= no\n----\n"
    assert headings(text, "a.adoc") == [Heading(0, 1, "Book"), Heading(3, 2, "One")]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: x\n# not this\n---\n# Real\n", "Real"),
        ("```\n# not a heading\n```\n## Two\n", "Two"),
        ("```\n# never closed\n", None),
        ("Setext\n======\n", "Setext"),
        ("# Trailing #\r\n", "Trailing"),
        ("no heading", None),
        ("#hashtag\n", None),
    ],
)
def test_the_title_of_a_page_is_its_first_heading(text: str, title: str | None) -> None:
    assert prose_title(text, "a.md") == title


def test_the_title_of_restructured_text_is_its_first_heading() -> None:
    assert prose_title("Guide\n=====\n\nMore\n----\n", "a.rst") == "Guide"


@pytest.mark.parametrize(
    ("hostile", "path"),
    [
        ("**a " * 20_000, "a.md"),
        ("[" * 20_000, "a.md"),
        (">" * 5_000, "a.md"),
        (" ".join("`" * n for n in range(1_500)), "a.md"),
        ("# " + "[" * 20_000, "a.md"),
        ("= " + "= " * 20_000, "a.wiki"),
        ("== a" + " " * 50_000 + "b", "a.wiki"),
        ("-" * 50_000, "a.adoc"),
    ],
)
def test_hostile_markup_takes_less_than_a_second(hostile: str, path: str) -> None:
    began = time.process_time()
    headings(hostile, path)
    assert time.process_time() - began < 1
