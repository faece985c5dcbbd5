"""Which documents are versions of one topic, and in which order."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from versioned_pages import found, page, text

from operators.sources.dates.stated_version import document_version
from operators.versions.lineage import LINEAGE_DOCUMENTS, lineages
from operators.versions.normalized_names import normalize_names
from operators.versions.version_key import version_key


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
        ("guide-{}/start-{}.md", ("Start here", "First steps"), 1.0),
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


def test_a_moved_page_is_found_by_name_title_and_some_of_its_text() -> None:
    old = page("d/1.0/assert.md", "1.0", title="Asserting")
    new = page("d/2.0/howto/assert.md", "2.0", title="Asserting", text=text(1, 0.4))
    other = page("d/2.0/other.md", "2.0", title="Other", text=text(9))
    assert found(old, new, other) == [keys(old, new)]


def test_a_renamed_page_is_found_by_its_text_alone() -> None:
    old = page("d/1.0/cli.md", "1.0", title="Command line")
    new = page("d/2.0/commands.md", "2.0", title="Commands", text=text(1, 0.05))
    assert found(old, new) == [keys(old, new)]


def test_a_page_that_is_only_a_little_like_one_that_ended_is_another() -> None:
    old = page("d/1.0/cli.md", "1.0", title="Command line")
    new = page("d/2.0/commands.md", "2.0", title="Commands", text=text(1, 0.5))
    assert found(old, new) == []


def test_a_page_that_both_versions_have_was_not_renamed() -> None:
    pages = [
        page("d/1.0/a.md", "1.0", title="A"), page("d/2.0/a.md", "2.0", title="A"),
        page("d/2.0/copy.md", "2.0", title="Copy"),
    ]  # fmt: skip
    assert found(*pages) == [keys(pages[0], pages[1])]


def test_a_page_that_comes_back_after_a_version_without_it_is_not_joined_by_text_alone() -> None:
    pages = [
        page("d/1.0/old.md", "1.0", title="Old"), page("d/3.0/new.md", "3.0", title="New"),
        page("d/2.0/b.md", "2.0", title="B", text=text(7)),
    ]  # fmt: skip
    assert found(*pages) == []


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("docs/v1.2/guide.md", "1.2"), ("docs/v1.10/Guide.md", "1.10")),
        (("Tool_Release_3_5_3_notes.pdf", "3.5.3"), ("Tool_Release_3_5_4_notes.pdf", "3.5.4")),
        (("docs/22/guide.md", "22"), ("docs/23/guide.md", "23")),
        (("docs/latest/guide.md", None), ("docs/v2/guide.md", None)),
    ],
)
def test_versions_of_one_page_have_one_path(
    one: tuple[str, str | None], two: tuple[str, str | None]
) -> None:
    paths = [normalize_names(path, None, "", version).path for path, version in (one, two)]
    assert paths[0] == paths[1]


def test_another_version_in_a_name_stays() -> None:
    one = normalize_names("doc/announce/release-2.3.0.rst", None, "", "5.0.0")
    two = normalize_names("doc/announce/release-2.4.0.rst", None, "", "5.0.0")
    assert one.path != two.path


def test_a_single_number_is_a_version_only_where_it_is_said_to_be_one() -> None:
    assert (
        normalize_names("docs/22/guide.md", "22 ways to fail", "", "22").title == "22-ways-to-fail"
    )
    assert normalize_names("docs/22/guide.md", "Guide, version 22", "", "22").title == "guide"


def test_a_title_loses_its_version_and_the_brackets_around_it() -> None:
    assert normalize_names("a.rst", "Fixtures (7.1.0)", "", "7.1.0").title == "fixtures"


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("assert_nodejs_18.20.8.md", "18.20.8"),
        ("foo-1.0.0-rc.1.md", "1.0.0-rc.1"),
        ("v2.pdf", "2"),
        ("versioned_docs/version-1.10/guide.md", "1.10"),
        ("api/v1beta1/guide.md", "1beta1"),
    ],
)
def test_a_version_is_found_in_the_path(path: str, version: str) -> None:
    assert document_version(path) == version


@pytest.mark.parametrize(
    "path",
    [
        None,
        "2019-05-01-notes.md",
        "1.2-overview.md",
        "bip-0032.mediawiki",
        "docs/18/sql.html",
    ],
)
def test_a_number_that_is_no_version_is_left_alone(path: str | None) -> None:
    assert document_version(path) is None


@given(st.text(max_size=40))
def test_any_path_has_a_version_or_none(path: str) -> None:
    document_version(path)


def test_versions_sort_from_oldest_to_newest() -> None:
    ordered = [
        "", "latest", "0.9", "1.0-SNAPSHOT", "1.0.dev3", "1.0-alpha.1", "1.0a2", "1.0-beta",
        "1.0b2", "1.0-M1", "1.0-rc.1", "1.0rc2", "1.0-rc.10", "1.0", "1.0-1", "1.0.1", "1.1.1",
        "1.1.1w", "1.2", "1.9", "1.10", "1.x", "v2.0.0", "16.20.2", "18.20.8", "19.9.0", "22.14.0",
        "2024-05-01", "2024.10.1",
    ]  # fmt: skip
    backwards = ordered[::-1]
    assert sorted(backwards, key=version_key) == ordered


def test_one_version_written_in_several_ways_is_one() -> None:
    same = ["1.0", "v1.0", "1", "1.0.0", "V1.0", "1.0+build5", "1.0.Final", "release-1.0", "01.0"]
    assert len({version_key(version) for version in same}) == 1
    assert version_key(None) == version_key("") < version_key("x") < version_key("0")


@given(st.lists(st.text(max_size=12) | st.from_regex(r"v?[0-9.]{1,8}[-a-z0-9.]{0,8}"), max_size=6))
def test_any_texts_can_be_sorted(versions: list[str]) -> None:
    keys = sorted(map(version_key, versions))
    assert all(a <= b for a, b in pairwise(keys))


def test_a_number_of_any_length_compares() -> None:
    assert version_key("9" * 5000) < version_key("1" + "0" * 5000)
    assert version_key("²") < version_key("1")
