from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.sources.formats.headings import headings
from operators.sources.formats.releases import release_sections


def found(text: str, path: str = "CHANGELOG.md") -> list[tuple[str, str] | None]:
    _, releases = release_sections(text, path, headings(text, path))
    return [r and (r.version, f"{r.date:%Y-%m-%d}" if r.date else "") for r in releases]


@pytest.mark.parametrize(
    ("heading", "version", "day"),
    [
        ("[1.2.0] - 2024-03-01", "1.2.0", "2024-03-01"),
        ("0.28.0 (28th November, 2024)", "0.28.0", "2024-11-28"),
        ("0.15.1 (September 23nd, 2020)", "0.15.1", "2020-09-23"),
        ("Release 2.1 (2024-03-01)", "2.1", "2024-03-01"),
        ("[v11.0.0](https://a.b/c...d) (2024-01-01)", "11.0.0", "2024-01-01"),
        ("pytest 8.1.0rc1 (2024-03-03)", "8.1.0rc1", "2024-03-03"),
        ("2024-03-01, Version 20.11.1 'Iron' (LTS), @x", "20.11.1", "2024-03-01"),
        ("1.2.0 released 2020-01-02", "1.2.0", "2020-01-02"),
        ("Version 8.1.0\n\nReleased 2021-05-11", "8.1.0", "2021-05-11"),
        ("v6.0\n\n(codename x)\n\n*Release date: 11 May 2021*", "6.0", "2021-05-11"),
        ("1.0.0 - Yanked", "1.0.0", ""),
    ],
)
def test_a_heading_of_a_release_says_version_and_day(heading: str, version: str, day: str) -> None:
    assert found(f"## {heading}\n\ntext\n") == [(version, day)]


@pytest.mark.parametrize(
    "heading", ["Unreleased", "2.0 support", "1.2 Installation", "1", "x" * 999]
)
def test_another_heading_ends_a_release_and_begins_none(heading: str) -> None:
    assert found(f"## 1.0\n\n### Fixed\n\n## {heading}\n") == [("1.0", ""), ("1.0", ""), None]


def test_releases_of_several_levels_do_not_stand_under_one_another() -> None:
    text = "## 1.1.0\n\n### Fixes\n\n### 1.0.1\n\n### Fixes\n\n### Python 3.12\n\n# Other\n"
    assert [of and of[0] for of in found(text)] == ["1.1.0"] * 2 + ["1.0.1"] * 3 + [None]
    sections, _ = release_sections(text, "NEWS.md", headings(text, "NEWS.md"))
    assert [heading.level for heading in sections] == [2, 3, 2, 3, 3, 1]


def test_underlined_and_plain_texts_have_releases_too() -> None:
    text = "Changes\n#######\n\nVersion 1.1\n===========\n\nReleased 2021-05-11\n\n1.0\n===\n"
    assert found(text, "CHANGES.rst") == [None, ("1.1", "2021-05-11"), ("1.0", "")]
    plain = "* Changes in version 1.1 (2021-05-11)\n\n  1.0.9 - no release\n\n1.0\n---\n"
    assert found(plain, "NEWS") == [("1.1", "2021-05-11"), ("1.0", "")]


def test_a_file_of_another_name_is_a_changelog_if_most_of_a_level_are_versions() -> None:
    assert found("# App\n\n## 1.1.0\n\n## 1.0.0\n", "app.md") == [
        None,
        ("1.1.0", ""),
        ("1.0.0", ""),
    ]
    assert set(found("# Guide\n\n## 1.1 - Setup\n\n## 1.2 - Use\n", "guide.md")) == {None}
    assert set(found("# App\n\n## Use\n\n## 1.0.0\n", "app.md")) == {None}


pieces = st.sampled_from(
    ["## ", "# ", "1.0", " - ", "(", "2024-01-01", "\n", "x in ", "[", "](", "a"]
)


@given(st.lists(pieces, max_size=60).map("".join), st.sampled_from(["NEWS", "a.md", "CHANGES.rst"]))
def test_every_heading_stays_where_it_is(text: str, path: str) -> None:
    sections, releases = release_sections(text, path, headings(text, path))
    assert len(sections) == len(releases)
    if known := headings(text, path):
        assert [(s.line, s.text) for s in sections] == [(h.line, h.text) for h in known]


@pytest.mark.parametrize("piece", ["1.", "* ", "a in ", "(", "[x](", "- ", "v1.1-"])
def test_a_hostile_heading_costs_no_time(piece: str) -> None:
    began = time.perf_counter()
    found("".join(f"## {piece * 200}\n\n" for _ in range(300)))
    assert time.perf_counter() - began < 10
