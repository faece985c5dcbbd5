from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.formats.headings import headings
from operators.sources.wiki.wikitext import redirect_target, wikitext_text


def text(source: str) -> str:
    return wikitext_text(source).text.removesuffix("\n")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'''bold''' and ''italic''", "bold and italic"),
        ("[[Page]]s, [[Page|the page]], [[:Category:A]]", "Pages, the page, Category:A"),
        ("[http://x.org the site] [http://y.org]", "the site http://y.org"),
        ("{{Note|Do not|type=x}}", "Do not x"),
        ("{{a|{{b|c}} d}}", "c d"),
        ("a<ref name='x'>cite</ref>b<br/>c <b>d</b>", "ab\nc d"),
        ("a<!-- b -->c<!-- never closed", "ac"),
        ("<nowiki>[[a]] {{b}} ''c''</nowiki>", "[[a]] {{b}} ''c''"),
        ("&lt;b&gt; &amp;", "<b> &"),
        ("[[File:a.png|thumb|200px|A [[nice|fine]] one]]", "A fine one"),
        ("{|\n|+ Cap\n! A !! style='x' | B\n|-\n| 1 || 2\n|}", " Cap\nA | B\n1 | 2"),
        ("__NOTOC__a", "a"),
        ("", ""),
    ],
)
def test_markup_becomes_text(source: str, expected: str) -> None:
    assert text(source) == expected


def test_categories_are_told_apart_from_the_text() -> None:
    made = wikitext_text("a [[Category:B c|sort]]\n[[Kategorie:D]]")
    assert (made.text, made.categories) == ("a\n", ["B c", "D"])


def test_headings_stay_and_none_is_made_from_code() -> None:
    made = text(
        "== A ==\nx\n<pre>\n== no ==\n</pre>\n<nowiki>== no ==</nowiki>\n"
        "<!--\n== no ==\n-->\n=== B ==="
    )
    assert [(h.level, h.text) for h in headings(made, "a.wiki")] == [(2, "A"), (3, "B")]
    assert made.count("== no ==") == 2


def test_what_is_never_closed_is_text() -> None:
    assert text("a {{b|c") == "a b|c"
    assert text("a ]] b }} c") == "a  b  c"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a &#xE000;7&#xE000; b", "a  7  b"),
        ("<nowiki>kept</nowiki> x &#xE000;0&#xE000;", "kept x  0"),
        ("<nowiki>&#57344;0&#57344;</nowiki>&amp;lt;", "\ue0000\ue000&lt;"),
    ],
)
def test_an_entity_never_repeats_what_was_kept(source: str, expected: str) -> None:
    assert text(source) == expected


def test_a_redirect_is_known() -> None:
    assert redirect_target("#REDIRECT [[Other|x]]") == "Other"
    assert redirect_target("#WEITERLEITUNG [[Andere]]") == "Andere"
    assert redirect_target("# item [[x]]") is None


@pytest.mark.parametrize(
    "hostile",
    ["{{" * 30_000, "[[" * 30_000, "'''a " * 20_000, "<ref>" * 20_000, "{|\n" * 20_000,
     "{{a|" * 20_000, "{{[[" * 10_000 + "]]}}" * 10_000, "|" + "a=" * 30_000, "=" * 50_000,
     "== a" + " " * 50_000 + "b", "{{a|" + " " * 50_000 + "}}", "<nowiki>" * 20_000,
     "<!--" * 30_000, "[http://a " * 20_000, "<b " * 30_000, "<syntaxhighlight>" * 10_000],
    ids=lambda text: text[:9],
)  # fmt: skip
def test_a_hostile_page_costs_no_more_than_its_length(hostile: str) -> None:
    began = time.process_time()
    made = text(hostile)
    headings(made, "a.wiki")
    assert time.process_time() - began < 3


@settings(max_examples=300)
@given(
    st.lists(
        st.text(alphabet="ab={}[]|'<>!-/& \nrefnowik\ue000" + "1")
        | st.sampled_from(["&#xE000;", "<nowiki>", "</nowiki>"])
    ).map("".join)
)
def test_any_text_is_read(source: str) -> None:
    wikitext_text(source)
