from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from operators.foundation.escape import visible
from operators.report.page import Html, Section, element, join, markup, page, table

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]))


@given(TEXTS)
def test_any_text_is_shown_as_it_is_and_becomes_no_element(text: str) -> None:
    parsed = html.fragment_fromstring(element("div", text, title=text))
    assert not list(parsed)
    assert (parsed.text or "") == parsed.get("title") == visible(text)


def test_what_nobody_sees_is_shown_by_its_code() -> None:
    assert markup("a\u202eb\u200b") == r"a\u{202e}b\u{200b}"


def test_markup_stays_markup_and_text_beside_it_is_escaped() -> None:
    assert join(["<b>", Html("<b>x</b>")], ", ") == "&lt;b&gt;, <b>x</b>"


def test_an_attribute_without_a_value_is_left_out_or_bare() -> None:
    made = element("details", "x", open=True, hidden=False, class_=None, data_a_b=1)
    assert made == '<details open data-a-b="1">x</details>'


def test_a_table_has_a_caption_and_headings_of_columns_and_rows() -> None:
    parsed = html.fragment_fromstring(
        table("What <it> shows", ["name", "n"], [["a", "1"], ["<b>", "2"]], numeric=[1])
    )
    (inner,) = parsed.findall("table")
    assert inner.findtext("caption") == "What <it> shows"
    assert [cell.get("scope") for cell in inner.iter("th")] == ["col", "col", "row", "row"]
    assert [cell.text for cell in inner.iter("td")] == ["1", "2"]
    assert all(cell.get("class") == "number" for cell in inner.iter("td"))
    assert parsed.get("tabindex") == "0"  # what scrolls can be reached by the keyboard
    assert parsed.get("aria-label") == "What <it> shows"


def test_every_section_is_in_the_contents_under_an_anchor_of_its_own() -> None:
    parts = [Section("Same", Html("1")), Section("Same", Html("2")), Section("!", Html("3"))]
    parsed = html.document_fromstring(page("Title", parts))
    targets = [link.get("href", "").lstrip("#") for link in parsed.iter("a")]
    assert len(set(targets)) == 3
    assert [parsed.get_element_by_id(t).findtext("h2") for t in targets] == ["Same", "Same", "!"]
    assert parsed.findtext(".//h1") == parsed.findtext(".//title") == "Title"


def test_a_page_may_load_nothing() -> None:
    parsed = html.document_fromstring(page("Title", []))
    (policy,) = parsed.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'")
    assert parsed.get("lang") == "en"
