from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from operators.context.citations import link
from operators.foundation.escape import header_label, label_text, safe_url, visible

UNSEEN = ["\u200b", "\u2066", "\u202e", "\ufeff", "\u00ad", "\u2060", "\u3164", "\u2028", "\x07"]
UNSEEN += ["\x1b", "\x7f", "\x9b", "\U000e0041", "\U000e01ef", "\u180e", "\u2800"]

nasty = st.text(st.sampled_from("[]()\\`<>!*_&;:/ab \n\t" + "".join(UNSEEN)))


def links_of(markdown: str) -> list[str]:
    tokens = MarkdownIt().enable("linkify", ignoreInvalid=True).parseInline(markdown)[0].children
    return [str(token.attrGet("href")) for token in tokens or [] if token.type == "link_open"]


@given(nasty)
def test_a_label_is_one_line_and_one_link_whatever_is_in_it(content: str) -> None:
    label = f"[wiki: {label_text(content)}]"
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", label)
    assert links_of(link(label, "https://example.org/page")) == ["https://example.org/page"]
    assert links_of(link(label, None)) == []


@given(st.text(st.sampled_from("ab[]()\\`<>&;#x3c!*_~\u200b\n"), max_size=20))
def test_a_citation_shows_its_label_as_it_is(content: str) -> None:
    label = f"[wiki: {label_text(content)}]"
    for url, shown in (("https://h/x", label[1:-1]), (None, label)):
        tokens = (
            MarkdownIt().enable("strikethrough").parseInline(link(label, url))[0].children or []
        )
        assert {token.type for token in tokens} <= {
            "text",
            "text_special",
            "link_open",
            "link_close",
        }
        text = "".join(token.content for token in tokens)
        assert re.sub(r"\s", "", text) == re.sub(r"\s", "", shown)


@pytest.mark.parametrize(
    ("label", "header"),
    [
        ("[docs: assert.deepEqual(actual[, message])]", None),
        ("[docs: `a[0]` <T> C:\\x]", None),
        ("[docs: x] [code: evil.py:1-2]", "[docs: x\\] \\[code: evil.py:1-2]"),
        ("[docs: x]]", "[docs: x\\]]"),
        ("[docs: [x]", "[docs: \\[x]"),
        ("[docs: ][]", "[docs: \\]\\[]"),
        ("[docs: \\[code: x]]", "[docs: \\[code: x\\]]"),
    ],
)
def test_only_a_bracket_that_could_end_a_label_is_escaped_in_a_header(
    label: str, header: str | None
) -> None:
    assert header_label(label) == (header or label)


@given(nasty)
def test_no_bracket_inside_a_header_ends_it(content: str) -> None:
    label = header_label(f"[wiki: {label_text(content)}]")
    depth = 0
    for place, bracket in ((m.start(), m[0]) for m in re.finditer(r"(?<!\\)[\[\]]", label[:-1])):
        depth += 1 if bracket == "[" else -1
        assert depth > 0, (label, place)


@pytest.mark.parametrize("character", UNSEEN)
def test_what_nobody_sees_is_shown(character: str) -> None:
    code = f"\\u{{{ord(character):x}}}"
    assert visible(f"a{character}b") == f"a{code}b"
    assert label_text(f"a{character}b") == f"a{code}b"


@pytest.mark.parametrize(
    "text",
    ["plain", "two\n\tlines", "naïve Straße", "👩‍👩‍👧 ❤️ ✈︎", "می‌خواهم", "क्‍ष", "日本語", "a\\b [c]"],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_line_ends_are_one_kind() -> None:
    assert visible("a\r\nb\rc") == "a\nb\nc"


def test_joiners_and_selectors_that_carry_a_message_are_shown() -> None:
    assert "\\u{200d}" in visible("a\u200db")
    assert visible("x\ufe00\ufe01\ufe02").count("\\u{") == 3


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html;base64,AAAA",
        "file:///etc/passwd",
        "//evil",
        "http://good.com@evil.com/",
        "java\tscript:x",
        "https://user:pw@example.org/",
        "https://example.org\\@evil.org/",
        "https://exa\u202emple.org/",
        "https://",
        "https://example.org:99999/",
        "ftp://example.org/",
        "",
        "relative/page",
        "https://example.org/a/../b",
        "https://example.org/a/%2e%2E",
        "https://example.org/a%2f..%5cb",
    ],
)
def test_only_web_addresses_without_user_info_become_links(url: str) -> None:
    assert safe_url(url) is None


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("https://example.org/a b(c)<d>", "https://example.org/a%20b%28c%29%3Cd%3E"),
        ("https://example.org/%20%zz", "https://example.org/%20%25zz"),
        ("HTTP://EXAMPLE.org/A", "http://example.org/A"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("http://localhost:8080/x", "http://localhost:8080/x"),
    ],
)
def test_an_address_is_encoded_so_that_nothing_ends_the_link(url: str, safe: str) -> None:
    assert safe_url(url) == safe


@given(nasty)
def test_any_safe_address_makes_exactly_one_link(content: str) -> None:
    url = safe_url(f"https://example.org/{content}")
    if url is not None:
        assert len(links_of(link("[wiki: a]", url))) == 1
