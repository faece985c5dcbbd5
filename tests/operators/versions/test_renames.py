"""Pages that were renamed or moved between two versions."""

from __future__ import annotations

from typing import Any

import numpy as np
from versioned_pages import found, page, text

from operators.versions.normalized_names import normalize_names
from operators.versions.renames import Page
from operators.versions.version_key import version_key


def keys(*pages: dict[str, Any]) -> list[str]:
    return [p["document_key"] for p in pages]


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


def test_two_pages_are_two_things_even_with_equal_values() -> None:
    def made() -> Page:
        names = normalize_names("docs/v1.2/a.md", "A", "a", None)
        order = (1, version_key("1.2"), 0.0)
        return Page("key", "", names, order, None, None, np.empty(0, "<u4"))

    one, two = made(), made()
    assert one != two
    assert len({one, two}) == 2
