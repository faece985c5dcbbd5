"""Sections of files as documents of their own: one topic through all versions of the file."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from versioned_pages import found, page, text

from operators.versions.section_titles import section_titles

PATHS = ("spec.md", "spec-{}.md", "draft-{}/spec.md", "{}/spec.md", "old/{}/spec.md")
VERSIONS = ("{:02}", "draft-{:02}", "spec-{:02}", "1.{}")
TITLES = ("{t}", "{n}. {t}", "{n}.  {t} (spec {v})", "spec {v}: {n} {t}", "Spec {v} - {t}")
IDENTIFIERS = ("{v}/{p}#{i:03}", "{v}/{p}#section-{n}", "{h}")
HEADINGS = ("Introduction", "Streams", "Flow Control", "Errors", "Key Update", "Security", "IANA")


def sections(
    version: int, headings: list[str], forms: tuple[str, str, str, str], changed: float
) -> list[dict[str, Any]]:
    """The sections of one version; their texts have ``changed`` of their words anew."""
    path_form, version_form, title_form, id_form = forms
    v = version_form.format(version)
    path, made = path_form.format(v), []
    for place, heading in enumerate(headings):
        seen = headings[:place].count(heading)
        title = title_form.format(n=place + 1, t=heading, v=v)
        named = {"n": place + 1, "v": v, "p": path, "i": place, "h": crc32(f"{v} {place}".encode())}
        body = text(crc32(heading.encode()) % 900 + 17 * seen, changed)
        row = page(path, v, title=title, document_id=id_form.format(**named), text=body)
        made.append(row | {"document_key": f"{version} {heading} {seen}"})
    return made


def topics(pages: list[dict[str, Any]]) -> list[list[str]]:
    return sorted(found(*pages))


@given(
    st.tuples(
        st.sampled_from(PATHS),
        st.sampled_from(VERSIONS),
        st.sampled_from(TITLES),
        st.sampled_from(IDENTIFIERS),
    ),
    st.sets(st.integers(0, 3), max_size=2),
)
def test_however_names_are_written_a_rewritten_section_is_one_topic(
    forms: tuple[str, str, str, str], without: set[int]
) -> None:
    first = [h for n, h in enumerate(HEADINGS) if n not in without]
    pages = [
        *sections(8, first, forms, 0.0),
        *sections(9, [*HEADINGS], forms, 0.95),
        *sections(10, [*HEADINGS], forms, 0.5),
    ]
    expected = [[f"{v} {h} 0" for v in (8, 9, 10) if v > 8 or h in first] for h in HEADINGS]
    assert topics(pages) == sorted(expected)


def test_sections_of_one_heading_are_told_apart_by_what_stands_around_them() -> None:
    forms = ("spec.md", "{:02}", "{t}", "{v}/{p}#{i:03}")
    parts = ["Client", "Overview", "Hello", "Server", "Overview", "Finished"]
    turned = ["New", "Server", "Overview", "Finished", "Client", "Overview", "Hello"]
    pages = sections(1, parts, forms, 0.0) + sections(2, turned, forms, 1.0)
    of_server = next(topic for topic in topics(pages) if "1 Overview 1" in topic)
    assert of_server == ["1 Overview 1", "2 Overview 0"]


def test_an_identifier_that_is_a_place_joins_no_other_section() -> None:
    forms = ("spec.md", "1.{}", "{t}", "{v}/{p}#{i:03}")
    old = sections(1, ["A first", "B second", "C third", "D fourth"], forms, 0.0)
    new = sections(2, ["A first", "New one", "C third", "D fourth"], forms, 0.0)
    assert ["1 B second 0", "2 New one 0"] not in topics(old + new)
    assert ["1 A first 0", "2 A first 0"] in topics(old + new)


def test_an_identifier_that_is_a_name_joins_what_was_retitled() -> None:
    forms = ("spec.md", "1.{}", "{t}", "{v}/{p}#{i:03}")
    old = sections(1, ["One", "Two", "Limits of caches", "Four"], forms, 0.0)
    new = sections(2, ["One", "Two", "How much is kept", "Four"], forms, 0.0)
    for row in (old[2], new[2]):
        row["document_id"] = f"{row['version']}/spec.md#limits"
    assert ["1 Limits of caches 0", "2 How much is kept 0"] in topics(old + new)


def test_a_retitled_section_at_its_place_that_kept_some_text_goes_on() -> None:
    forms = ("spec.md", "{:02}", "{t}", "{v}/{p}#{i:03}")
    old = sections(1, ["One", "Two", "Three", "Four", "Five"], forms, 0.0)
    new = sections(2, ["One", "Two", "Third", "Four", "Five"], forms, 0.0)
    new[2]["sketch"] = page("x", text=text(crc32(b"Three") % 900, 0.4))["sketch"]
    assert ["1 Three 0", "2 Third 0"] in topics(old + new)


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (["1-rtt-keys", "0-rtt-keys", "keys", "errors"], None),
        (["how-to-1", "how-to-2", "how-to-3", "how-to-4"], None),
        (["3.a", "3.1.b", "4.c", "a.1.d", "appendix-b.e"], ["a", "b", "c", "d", "e"]),
        (["a-(draft-05)", "b-(draft-05)", "c-(draft-05)", "d-(draft-05)"], ["a", "b", "c", "d"]),
    ],
)
def test_a_heading_is_a_title_without_what_all_share_and_without_its_number(
    titles: list[str], expected: list[str] | None
) -> None:
    assert section_titles(titles) == (expected or titles)
