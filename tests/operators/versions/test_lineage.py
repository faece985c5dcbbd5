""""""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from versioned_pages import found, page, text

from benchmarks.judged import data_folder
from benchmarks.lineage import candidates, judge, truth
from operators.versions.lineage import LINEAGE_DOCUMENTS, lineages


def keys(*pages: dict[str, Any]) -> list[str]:
    return [p["document_key"] for p in pages]


def test_versions_go_by_number_and_not_by_date() -> None:
    pages = [
        page("doc/v18.20.8/a.md", "18.20.8", date="2025-03-27"),
        page("doc/v22.14.0/a.md", "22.14.0", date="2025-02-11"),
        page("doc/v9.1.0/a.md", "9.1.0", date="2018-01-01"),
    ]
    assert found(*pages) == [keys(pages[2], pages[0], pages[1])]


def test_a_path_without_its_version_is_one_topic_whatever_the_text_has_become() -> None:
    old, new = page("d/1.0/a.md", "1.0"), page("d/2.0/a.md", "2.0", text=text(5))
    assert found(new, old) == [keys(old, new)]


def test_a_version_that_only_the_document_states_is_enough() -> None:
    old, new = page("a.rst", "1.0", title="A (1.0)"), page("a.rst", "2.0", title="A (2.0)")
    assert found(new, old) == [keys(old, new)]


def test_numbered_pages_with_titles_and_texts_of_their_own_are_no_versions() -> None:
    pages = [
        page(f"course/kata-1.{n}.md", f"1.{n}", title=f"Kata 1.{n}: {name}", text=body)
        | {"document_id": f"course/kata-1.{n}.md"}
        for n, name, body in (
            (1, "Reverse a list", text(1)), (2, "Count vowels", text(1, 0.4)), (3, "Sort", text(2)),
        )
    ]  # fmt: skip
    assert found(*pages) == []


@pytest.mark.parametrize(
    ("path", "titles", "changed"),
    [
        ("guide-{}.md", ("Guide 1.0", "Guide 2.0"), 1.0),
        ("guide-{}.md", ("The guide", "The guide"), 1.0),
        ("guide-{}.md", ("Start here", "First steps"), 0.2),
        ("guide-v{}.md", ("Start here", "First steps"), 1.0),
        ("guide/{}/start.md", ("Start here", "First steps"), 1.0),
        ("guide-{}/start-{}.md", ("Start here", "First steps"), 1.0),
        ("guide-{}.0.md", ("Start here", "First steps"), 1.0),
    ],
)
def test_files_named_by_two_numbers_are_versions_if_titles_or_texts_or_folders_say_so(
    path: str, titles: tuple[str, str], changed: float
) -> None:
    pages = [
        page(path.format(n, n), n + ".0" * path.count(".0"), title=title, text=text(1, share))
        for n, title, share in zip(("1.0", "2.0"), titles, (0.0, changed), strict=True)
    ]
    assert found(*pages) == [keys(*pages)]


def test_two_pages_of_one_version_are_never_one_topic() -> None:
    pages = [page("d/1.0/a.md", "1.0"), page("d/1.0/b.md", "1.0"), page("d/2.0/a.md", "2.0")]
    assert found(*pages) == [keys(pages[0], pages[2])]


def test_sections_that_share_path_and_title_find_their_own_by_content() -> None:
    pages = [
        page("d/a.md", version, title="Details", text=text(seed, changed), document_key=key,
             document_id=key)
        for version, changed in (("1.0", 0.0), ("2.0", 0.1))
        for seed, key in ((1, f"x{version}"), (2, f"y{version}"))
    ]  # fmt: skip
    assert found(*reversed(pages)) == [["x1.0", "x2.0"], ["y1.0", "y2.0"]]


def test_repositories_do_not_share_topics() -> None:
    assert found(page("d/1.0/a.md", "1.0", repo="x"), page("d/2.0/a.md", "2.0", repo="y")) == []


def test_the_page_of_a_folder_latest_is_the_newest() -> None:
    old, new = page("d/1.0/a.md", "1.0"), page("d/latest/a.md", None)
    assert found(new, old) == [keys(old, new)]


def test_a_page_without_a_version_and_an_older_date_comes_before() -> None:
    old = page("d/a.md", None, date="2019-01-01")
    new = page("d/1.0/a.md", "1.0", date="2020-01-01")
    assert found(new, old) == [keys(old, new)]


def test_names_that_differ_by_a_date_are_versions_if_most_of_the_text_is_the_same() -> None:
    pages = [
        page("rules-2021-03-01.md", date="2021-03-01"),
        page("rules-2023-03-01.md", date="2023-03-01", text=text(1, 0.1)),
        page("minutes-2021-03-01.md", date="2021-03-01", text=text(3)),
        page("minutes-2023-03-01.md", date="2023-03-01", text=text(4)),
    ]
    assert found(*pages) == [keys(pages[0], pages[1])]


def test_a_modification_time_is_no_date() -> None:
    row = page("d/1.0/a.md", "1.0", date="2020-01-01") | {"date_source": "mtime"}
    frame = lineages(pl.DataFrame([row, page("d/2.0/a.md", "2.0")], schema=LINEAGE_DOCUMENTS))
    assert frame["released_at"].null_count() == 2


def test_dates_of_files_that_go_against_the_versions_are_no_dates_of_release() -> None:
    def dates(*days: str, source: str = "pdf") -> list[Any]:
        pages = [
            page(f"d/{n}.0/a.pdf", f"{n}.0", date=day) | {"date_source": source}
            for n, day in enumerate(days)
        ]
        return lineages(pl.DataFrame(pages, schema=LINEAGE_DOCUMENTS))["released_at"].to_list()

    assert None not in dates("2020-01-01", "2021-01-01")
    assert dates("2025-04-12", "2025-04-11") == [None, None]
    assert None not in dates("2025-03-27", "2025-02-11", source="explicit")


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_documents_does_not_matter(chance: random.Random) -> None:
    pages = [
        page(f"d/{v}/{name}.md", v, title=name.title(), text=text(seed, changed))
        for v, changed in (("1.0", 0.0), ("1.1", 0.05), ("2.0", 0.1))
        for seed, name in enumerate("abc")
        if (v, name) not in {("2.0", "a"), ("1.0", "c")}
    ] + [page("d/2.0/renamed.md", "2.0", title="Renamed", text=text(0, 0.1))]
    expected = lineages(pl.DataFrame(pages, schema=LINEAGE_DOCUMENTS))
    shuffled = chance.sample(pages, len(pages))
    assert lineages(pl.DataFrame(shuffled, schema=LINEAGE_DOCUMENTS)).equals(expected)
    for _, of in expected.group_by("lineage_id"):
        assert of["version"].n_unique() == of.height
        assert of["newest"].sum() == 1


@pytest.mark.parametrize(("name", "precision"), [("rpcver", 0.999), ("btc", 0.999)])
def test_judged_topics_are_found(name: str, precision: float) -> None:
    folder = data_folder() / name
    if not folder.exists():
        pytest.skip(f"the judged set {name} is not on this machine")
    topics, newest = truth(folder)
    result = judge(lineages(candidates(folder)), topics, newest)
    assert result["precision"] >= precision
    assert result["recall"] >= 0.99
    assert result["topics newest"] >= 0.99
