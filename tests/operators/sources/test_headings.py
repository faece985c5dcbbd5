import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.headings import Heading, headings


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# One\n\ntext\n\n## Two\n"),
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
