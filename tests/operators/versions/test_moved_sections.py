"""A section that a file's next version lacks: its text went to another section, or is gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from versioned_pages import page, text, words

from operators.versions.lineage import LINEAGE_DOCUMENTS, lineages
from operators.versions.text_sketches import contained, sketch


def section(version: str, title: str, body: str, place: int) -> dict[str, Any]:
    named = {"title": title, "document_id": f"{version}/guide.md#section-{place}"}
    row = page("guide.md", version, text=body, **named)
    return row | {"document_key": f"{version} {title}"}


def file(version: str, **sections: str) -> list[dict[str, Any]]:
    return [section(version, title, body, n) for n, (title, body) in enumerate(sections.items())]


def ends(*pages: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What the lineages say of each document, without what they do not say."""
    frame = lineages(pl.DataFrame(list(pages), schema=LINEAGE_DOCUMENTS))
    kinds = ("split_from", "ended_in", "moved_to")
    rows = frame.select("document_key", *kinds).iter_rows(named=True)
    return {row["document_key"]: {k: row[k] for k in kinds if row[k]} for row in rows}


ONE, TWO, THREE, FOUR = (text(seed) for seed in (2, 3, 4, 5))


def test_a_section_whose_text_stands_in_another_one_was_merged_into_it() -> None:
    old = file("1.0", Start=ONE, Limits=TWO, Errors=THREE)
    new = file("1.1", Start=f"{ONE} {TWO}", Errors=THREE)
    told = ends(*old, *new)
    assert told["1.0 Limits"] == {"ended_in": "1.1 Errors", "moved_to": "1.1 Start"}
    assert told["1.1 Start"] == {}


def test_a_section_whose_text_was_in_another_one_was_split_from_it() -> None:
    old = file("1.0", Start=f"{ONE} {TWO}", Errors=THREE)
    new = file("1.1", Start=ONE, Limits=TWO, Errors=THREE)
    assert ends(*old, *new)["1.1 Limits"] == {"split_from": "1.0 Start"}


def test_a_section_whose_text_is_nowhere_is_gone_in_the_next_version() -> None:
    old = file("1.0", Start=ONE, Limits=TWO, Errors=THREE)
    new = file("1.1", Start=ONE, Errors=THREE, Colours=FOUR)
    told = ends(*old, *new, *file("1.2", Start=ONE, Errors=THREE, Colours=FOUR))
    assert told["1.0 Limits"] == {"ended_in": "1.1 Colours"}
    assert told["1.1 Colours"] == {}


def test_a_section_that_comes_back_has_not_ended() -> None:
    whole = {"Start": ONE, "Limits": TWO, "Errors": THREE}
    without = {"Start": ONE, "Errors": THREE}
    told = ends(*file("1.0", **whole), *file("1.1", **without), *file("1.2", **whole))
    assert all(row == {} for row in told.values())


def test_a_page_that_is_no_section_of_a_file_never_ends() -> None:
    told = ends(
        *(page("a.md", v, title="A") for v in ("1.0", "1.1")),
        *(page("b.md", v, title="B", text=TWO) for v in ("1.1", "1.2")),
    )
    assert all(row == {} for row in told.values())


@given(st.integers(0, 900), st.integers(60, 400), st.integers(0, 400))
def test_the_share_of_a_text_that_a_longer_one_has_is_near_the_truth(
    seed: int, kept: int, more: int
) -> None:
    part = sketch(" ".join(words(seed, 400)))
    whole = sketch(" ".join(words(seed, 400)[:kept] + words(seed + 1000, more)))
    assert abs(contained(part, whole) - kept / 400) < 0.3
    assert contained(part, part) == 1.0
    assert contained(part, np.zeros(0, np.uint32)) == 0.0
