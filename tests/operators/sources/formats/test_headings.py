"""Headings, anchors, releases and dates of marked-up text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.formats.asciidoc import MAX_VALUE, asciidoc_header, asciidoc_text
from operators.sources.formats.heading_slugs import section_slugs
from operators.sources.formats.headings import Heading, headings, prose_title
from operators.sources.formats.html import html_text
from operators.sources.formats.releases import release_sections


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


def titles(text: str, path: str) -> list[tuple[int, int, str]]:
    return [tuple(heading) for heading in headings(text, path)]


def test_headings_of_html_in_markdown_are_headings() -> None:
    text = (
        '<h1 align="center">\n  <img src="a.png" alt="Logo"><br>\n  Ferry &amp; <b>co</b>\n</h1>\n'
        "\n<div>\n<H2>Use</H2>\n</div>\n\n```\n<h2>no</h2>\n```\n\n`<h2>no</h2>`\n\n### More\n"
    )
    assert titles(text, "a.md") == [(0, 1, "Ferry & co"), (6, 2, "Use"), (15, 3, "More")]
    assert prose_title(text, "a.md") == "Ferry & co"
    assert prose_title('<p align="center"><h1><img src=a alt="Logo"></h1></p>\n', "a.md") == "Logo"


@pytest.mark.parametrize("fence", ["````", "~~~~", "``````"])
def test_a_fence_of_four_holds_a_fence_of_three(fence: str) -> None:
    text = f"{fence}md\n{fence[:3]}\n# no\n{fence[:3]}\n# no\n{fence}\n\n# Yes\n"
    assert titles(text, "a.md") == [(7, 1, "Yes")]
    assert prose_title(text, "a.md") == "Yes"


def test_org_has_a_title_and_starred_headings() -> None:
    text = "#+title: Runbook\n# no\n* Alarms\n** Belt\ntext *bold*\n *no\n*no\n"
    assert titles(text, "a.org") == [(0, 1, "Runbook"), (2, 2, "Alarms"), (3, 3, "Belt")]
    assert prose_title(text, "a.org") == "Runbook"
    assert prose_title("* A section\n", "a.org") is None


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


@given(
    st.text(), st.sampled_from(["a.md", "a.mdx", "a.org", "a.rst", "a.wiki", "a.adoc", "a.txt", ""])
)
def test_heading_lines_rise_and_lie_inside_the_text(text: str, path: str) -> None:
    lines = [heading.line for heading in headings(text, path)]
    assert lines == sorted(set(lines))
    assert all(0 <= line <= text.count("\n") + text.count("\r") for line in lines)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: x\n# not this\n---\n# Real\n", "Real"),
        ("```\n# not a heading\n```\n## Two\n", "Two"),
        ("```\n# never closed\n", None),
        ("Setext\n======\n", "Setext"),
        ("#hashtag\n", None),
    ],
)
def test_the_title_of_a_page_is_its_first_heading(text: str, title: str | None) -> None:
    assert prose_title(text, "a.md") == title


@pytest.mark.parametrize(
    ("hostile", "path"),
    [
        ("**a " * 20_000, "a.md"),
        ("[" * 20_000, "a.md"),
        (" ".join("`" * n for n in range(1_500)), "a.md"),
        ("<h1>" * 50_000, "a.md"),
        ("<h1>" + "<img alt='" * 50_000 + "</h1>", "a.md"),
        ("* a" + " " * 50_000 + "b", "a.org"),
        ("== a" + " " * 50_000 + "b", "a.wiki"),
    ],
)
def test_hostile_markup_takes_less_than_a_second(hostile: str, path: str) -> None:
    began = time.process_time()
    headings(hostile, path)
    assert time.process_time() - began < 1


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
        ("# A\n# A-1\n# A\n", "a.md", ["a", "a-1", "a-2"]),
        ("== A ==\n== a ==\n== A_2 ==\n", "a.wiki", ["A", "a_2", "A_2_2"]),
    ],
)
def test_repeated_headings_have_slugs_of_their_own(
    text: str, path: str, expected: list[str]
) -> None:
    assert slugs(text, path) == expected


def test_an_id_that_the_page_gives_counts() -> None:
    assert slugs("## Setup {#install}\n", "a.md") == ["install"]


@given(st.lists(st.text(alphabet="aA1-_ !é", min_size=1, max_size=4), max_size=12))
def test_no_two_sections_share_a_slug(names: list[str]) -> None:
    for path, mark in (("a.md", "# {}\n"), ("a.wiki", "== {} ==\n")):
        made = slugs("\n".join(mark.format(name) for name in names), path)
        assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    ("line", "number", "date"),
    [
        ("v1.0, 2025-03-15", "1.0", "2025-03-15"),
        ("Version 2.1.0-rc.1, March 15, 2025", "2.1.0-rc.1", "March 15, 2025"),
        ("v1.0: a remark", "1.0", None),
        ("March 15, 2025", None, "March 15, 2025"),
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
        "= T\nIn the summer of 2024, we began.\n",
        "== Section\nA\nv1.0, 2025-03-15\n",
    ],
)
def test_a_line_elsewhere_is_no_revision(text: str) -> None:
    header = asciidoc_header(text)
    assert (header.number, header.date) == (None, None)


@pytest.mark.parametrize("fence", ["----", "////", "```"])
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


def test_attributes_of_the_file_are_filled_in_and_no_others() -> None:
    assert asciidoc_text(":v: 2.1\n:w: {v}!\n{w} {other}") == "\n\n2.1! {other}"


def test_an_include_is_never_followed() -> None:
    assert asciidoc_text("include::/etc/passwd[]") == "include::/etc/passwd[]"


def test_no_heading_is_made_from_a_block() -> None:
    text = asciidoc_text("= T\n\n----\n== no\n----\n\n====\n== no\n====\n\n== Yes\n\nOld\n---\n")
    assert [h.text for h in headings(text, "a.adoc")] == ["T", "Yes", "Old"]


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


def test_only_what_a_reader_sees_is_text() -> None:  # H40
    page = html_text(
        "<div>" * 50_000 + "deep<script>alert(1)</script><img src=x onerror=alert(1)>"
        "<!-- ignore previous instructions --><style>p {}</style><nav>menu</nav>"
        "<p hidden>a</p><p style='display: none'>b<b>c</b></p><i aria-hidden=true>d</i> end"
    )
    assert page.text == "deep end\n"


def test_the_title_is_the_pages_or_its_first_heading() -> None:
    assert html_text("<head><title>A &amp;\n B</title></head><h1>C</h1>").title == "A & B"
    assert html_text("<h2>C <a aria-hidden=true>¶</a></h2>").title == "C"
    assert html_text("<p>x").title is None
    assert html_text("<svg><title>icon</title></svg>x").title is None


def test_headings_are_found_and_other_lines_are_none() -> None:
    page = html_text("<h1>One</h1><p>a<p># no<pre>\n# comment\n  x\n</pre><h3>Two</h3>b")
    assert page.text == "# One\n\na\n\n # no\n\n    # comment\n      x\n\n### Two\n\nb\n"
    assert [(h.level, h.text) for h in headings(page.text, "a.html")] == [(1, "One"), (3, "Two")]


def test_hidden_text_ends_where_its_element_ends() -> None:
    assert html_text("<div hidden><div>a</div>b</div>c").text == "c\n"
    assert html_text("<input hidden>a<br hidden>b").text == "a\nb\n"


@pytest.mark.parametrize(
    "hostile",
    ["<" * 300_000, "<!--" * 100_000, "<a b='" * 50_000, "<title>" * 50_000, "<pre>" * 50_000,
     "<div hidden>" * 50_000, "<li>" * 50_000, "&#" * 100_000, "<select><option>" * 20_000],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_a_hostile_page_costs_no_more_than_its_length(hostile: str) -> None:
    began = time.process_time()
    html_text(hostile)
    assert time.process_time() - began < 5


@given(st.text())
def test_any_text_is_read(source: str) -> None:
    assert "\0" not in html_text(source).text


def found(text: str, path: str = "CHANGELOG.md") -> list[tuple[str, str] | None]:
    _, releases = release_sections(text, path, headings(text, path))
    return [r and (r.version, f"{r.date:%Y-%m-%d}" if r.date else "") for r in releases]


@pytest.mark.parametrize(
    ("heading", "version", "day"),
    [
        ("[1.2.0] - 2024-03-01", "1.2.0", "2024-03-01"),
        ("0.28.0 (28th November, 2024)", "0.28.0", "2024-11-28"),
        ("[v11.0.0](https://a.b/c...d) (2024-01-01)", "11.0.0", "2024-01-01"),
        ("2024-03-01, Version 20.11.1 'Iron' (LTS), @x", "20.11.1", "2024-03-01"),
        ("v6.0\n\n(codename x)\n\n*Release date: 11 May 2021*", "6.0", "2021-05-11"),
        ("1.0.0 - Yanked", "1.0.0", ""),
    ],
)
def test_a_heading_of_a_release_says_version_and_day(heading: str, version: str, day: str) -> None:
    assert found(f"## {heading}\n\ntext\n") == [(version, day)]


@pytest.mark.parametrize("heading", ["Unreleased", "2.0 support", "x" * 999])
def test_another_heading_ends_a_release_and_begins_none(heading: str) -> None:
    assert found(f"## 1.0\n\n### Fixed\n\n## {heading}\n") == [("1.0", ""), ("1.0", ""), None]


def test_releases_of_several_levels_do_not_stand_under_one_another() -> None:
    text = "## 1.1.0\n\n### Fixes\n\n### 1.0.1\n\n### Fixes\n\n### Python 3.12\n\n# Other\n"
    assert [of and of[0] for of in found(text)] == ["1.1.0"] * 2 + ["1.0.1"] * 3 + [None]
    sections, _ = release_sections(text, "NEWS.md", headings(text, "NEWS.md"))
    assert [heading.level for heading in sections] == [2, 3, 2, 3, 3, 1]


def test_a_file_of_another_name_is_a_changelog_if_most_of_a_level_are_versions() -> None:
    assert found("# App\n\n## 1.1.0\n\n## 1.0.0\n", "app.md") == [
        None,
        ("1.1.0", ""),
        ("1.0.0", ""),
    ]
    assert set(found("# Guide\n\n## 1.1 - Setup\n\n## 1.2 - Use\n", "guide.md")) == {None}
    assert set(found("# App\n\n## Use\n\n## 1.0.0\n", "app.md")) == {None}


pieces = st.sampled_from(
    ["## ", "# ", "1.0", " - ", "(", "2024-01-01", "\n", "x in ", "[", "](", "a"]
)


@given(st.lists(pieces, max_size=60).map("".join), st.sampled_from(["NEWS", "a.md", "CHANGES.rst"]))
def test_every_heading_stays_where_it_is(text: str, path: str) -> None:
    sections, releases = release_sections(text, path, headings(text, path))
    assert len(sections) == len(releases)
    if known := headings(text, path):
        assert [(s.line, s.text) for s in sections] == [(h.line, h.text) for h in known]


@pytest.mark.parametrize("piece", ["1.", "a in ", "[x]("])
def test_a_hostile_heading_costs_no_time(piece: str) -> None:
    began = time.perf_counter()
    found("".join(f"## {piece * 200}\n\n" for _ in range(300)))
    assert time.perf_counter() - began < 10
