from __future__ import annotations

import pytest

from operators.versions.normalized_names import normalize_names


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("docs/v1.2/guide.md", "1.2"), ("docs/v1.10/Guide.md", "1.10")),
        (("assert_tool_11.15.0.md", "11.15.0"), ("assert_tool_9.0.md", "9.0")),
        (("Tool_Release_3_5_3_notes.pdf", "3.5.3"), ("Tool_Release_3_5_4_notes.pdf", "3.5.4")),
        (("docs/3.5/guide.md", "3.5.3"), ("docs/3.4/guide.md", "3.4.4")),
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


def test_a_version_is_not_taken_out_of_a_longer_number() -> None:
    assert normalize_names(None, "Port 13.50", "", "3.5").title == "port-13.50"


def test_a_date_in_a_file_name_is_taken_out_of_a_page_without_a_version() -> None:
    one, two = (
        normalize_names(f"rules-{d}.pdf", None, "", None) for d in ("2021-03-01", "2023-04-01")
    )
    assert one.dated
    assert one.path == two.path


def test_pages_of_one_version_share_their_family() -> None:
    one = normalize_names("manual/1.2/a/x.md", None, "", "1.2")
    two = normalize_names("manual/v1.3/b/y.md", None, "", "1.3")
    assert one.family == two.family == "manual"


@pytest.mark.parametrize(
    ("path", "version", "numbered"),
    [
        ("course/kata-1.2.md", "1.2", True),
        ("course/1.2.md", "1.2", True),
        ("course/kata-v1.2.md", "1.2", False),
        ("course/kata_Release 1.2.md", "1.2", False),
        ("course/kata-1.2.3.md", "1.2.3", False),
        ("course-1.2/kata-1.2.md", "1.2", False),
        ("1.2/kata.md", "1.2", False),
        ("kata.md", "1.2", False),
        (None, "1.2", False),
    ],
)
def test_two_numbers_in_a_file_name_alone_may_be_those_of_a_page(
    path: str | None, version: str, numbered: bool
) -> None:
    assert normalize_names(path, "Kata", "kata", version).numbered is numbered
