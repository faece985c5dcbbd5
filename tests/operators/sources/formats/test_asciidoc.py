from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.formats.asciidoc import asciidoc_text, asciidoc_title
from operators.sources.formats.headings import headings


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
