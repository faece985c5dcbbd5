from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.formats.heading_slugs import section_slugs
from operators.sources.formats.headings import headings


def slugs(text: str, path: str) -> list[str]:
    return section_slugs(headings(text, path), path)


def test_github_slugs() -> None:
    text = "# Hello, World!\n\n# A `b_c` [link](x)\n\n# A  B\n\n# 日本語 ガイド\n\n# C++\n"
    assert slugs(text, "a.md") == ["hello-world", "a-b_c-link", "a--b", "日本語-ガイド", "c"]


def test_mediawiki_slugs() -> None:
    text = "== Über  uns ==\n== [[Page|The page]] ==\n== ''A'' b? ==\n"
    assert slugs(text, "a.mediawiki") == ["Über_uns", "The_page", "A_b?"]


def test_asciidoc_slugs() -> None:
    assert slugs("= T\n\n== Set-up it\n\n== Set-up it\n", "a.adoc") == [
        "_t",
        "_set_up_it",
        "_set_up_it_2",
    ]


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("# A\n# A\n# A\n", "a.md", ["a", "a-1", "a-2"]),
        ("# A\n# A-1\n# A\n", "a.md", ["a", "a-1", "a-2"]),
        ("# !\n# ?\n", "a.md", ["", "-1"]),
        ("== A ==\n== a ==\n== A_2 ==\n", "a.wiki", ["A", "a_2", "A_2_2"]),
    ],
)
def test_repeated_headings_have_slugs_of_their_own(
    text: str, path: str, expected: list[str]
) -> None:
    assert slugs(text, path) == expected


def test_an_id_that_the_page_gives_counts() -> None:
    assert slugs("## Setup {#install}\n", "a.md") == ["install"]


def test_text_made_from_pdf_or_html_has_no_slugs() -> None:
    assert slugs("# A\n", "a.pdf") == slugs("# A\n", "a.html") == []


@given(st.lists(st.text(alphabet="aA1-_ !é", min_size=1, max_size=4), max_size=12))
def test_no_two_sections_share_a_slug(names: list[str]) -> None:
    for path, mark in (("a.md", "# {}\n"), ("a.wiki", "== {} ==\n")):
        made = slugs("\n".join(mark.format(name) for name in names), path)
        assert len(set(made)) == len(made)
