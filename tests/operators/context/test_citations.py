from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from markdown_it import MarkdownIt

from operators.context.citations import citation, cite
from operators.context.packing import pack
from operators.frames import CITATIONS, check

Make = Callable[..., pl.DataFrame]


def source(label: str, url: str | None) -> dict[str, Any]:
    return {"chunk_id": 1, "corpus": "review", "source_label": label, "source_url": url}


def test_a_citation_links_and_says_where_else_it_was_found() -> None:
    found = citation(
        "[wiki: Title]",
        "https://h/t",
        [
            source("[review: PR #456]", "https://h/456"),
            source("[review: PR #456]", "https://h/456"),
            source("[wiki: Title]", "https://h/t"),
            source("[docs: x]", None),
        ],
    )
    assert found == (
        "[wiki: Title](https://h/t) (also found in [review: PR #456](https://h/456), [docs: x])"
    )


def test_without_a_link_a_citation_is_plain_text() -> None:
    assert citation("[wiki: Title]", None, []) == "[wiki: Title]"


# What GitHub, and linkify-it, take for an address where nothing says that it is one.
BARE = re.compile(r"(?:https?|ftp):/*//|(?<![\w\\])//\w|\bwww\.", re.I)


@pytest.mark.parametrize(
    "said",
    [
        *("https://evil/x", "see http://a.b/c?d=https://x.y", "HTTPS://EVIL", "www.evil.com"),
        *("https:///evil.com", "ftp://h", "x www.evil www.evil", "WWW.evil.com", "//evil.com/a"),
        *("](https://evil", "<https://evil>", "`https://evil", "\\https://evil", "https:\\//evil"),
        *("![x](//evil)", "&colon;//evil", "[x]: https://evil", "http:////evil", "a//b", "a.b/c:1"),
    ],
)
@pytest.mark.parametrize("url", [None, "https://good/"])
def test_an_address_in_a_label_is_shown_as_it_is_and_is_no_link(said: str, url: str | None) -> None:
    cited = citation(f"[wiki: {said}]", url, [source(f"[docs: {said}]", None)])
    assert not BARE.search(cited.replace("(https://good/)", ""))
    [block] = [one.children or [] for one in MarkdownIt().parse(cited) if one.children]
    assert [one.attrs["href"] for one in block if one.type == "link_open"] == [url][
        : url is not None
    ]
    shown = "".join(one.content for one in block)
    outer = "{}" if url else "[{}]"
    assert shown == f"{outer.format(f'wiki: {said}')} (also found in [docs: {said}])"


def test_many_alternates_are_counted() -> None:
    found = citation("[wiki: a]", None, [source(f"[docs: {n}]", None) for n in range(8)])
    assert found.endswith("[docs: 4] and 3 more)")


def test_every_passage_of_the_context_is_cited_and_nothing_else(
    make_results: Make, make_queries: Make, make_notes: Make
) -> None:
    results = make_results(
        *({"chunk_id": n, "rank": n, "text": "x" * 900 if n == 2 else "short"} for n in range(13))
    )
    packed = pack(results, make_queries({}), make_notes("a note"), budget=800, label_names=[])
    citations = cite(packed)
    check(citations, CITATIONS, "citations")
    assert citations["chunk_id"].to_list() == [n for n in range(13) if n != 2]
    assert citations["number"].to_list() == list(range(1, 13))


def test_alternates_reach_the_citation(
    make_results: Make, make_queries: Make, make_notes: Make
) -> None:
    results = make_results(
        {"chunk_id": 0, "rank": 0},
        {"chunk_id": 1, "rank": 1, "alternate_sources": [source("[docs: b]", "https://h/b")]},
    )
    packed = pack(results, make_queries({}), make_notes(), budget=800, label_names=[])
    assert cite(packed)["citation"].to_list() == [
        "[wiki: Page]",
        "[wiki: Page] (also found in [docs: b](https://h/b))",
    ]


def test_stars_and_underscores_of_a_path_make_nothing_bold() -> None:
    label = "[code: pkg/__init__.py *and* ~~old~~ some_name]"
    shown = MarkdownIt("gfm-like", {"linkify": False}).renderInline(
        citation(label, "https://h/t", [])
    )
    assert shown == f'<a href="https://h/t">{label[1:-1]}</a>'
