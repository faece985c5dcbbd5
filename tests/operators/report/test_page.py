""""""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from operators.foundation.escape import visible
from operators.report.page import Html, element, join, page

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]))


@given(TEXTS)
def test_any_text_is_shown_as_it_is_and_becomes_no_element(text: str) -> None:
    parsed = html.fragment_fromstring(element("div", text, title=text))
    assert not list(parsed)
    assert (parsed.text or "") == parsed.get("title") == visible(text)


def test_markup_stays_markup_and_text_beside_it_is_escaped() -> None:
    assert join(["<b>", Html("<b>x</b>")], ", ") == "&lt;b&gt;, <b>x</b>"


def test_a_page_may_load_nothing() -> None:
    parsed = html.document_fromstring(page("Title", []))
    (policy,) = parsed.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    assert policy.startswith("default-src 'none'")
    assert parsed.get("lang") == "en"
