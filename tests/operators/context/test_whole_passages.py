"""Passages that read whole: neighbours as one, the best from where their section begins."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.whole_passages import whole_passages
from operators.frames import SHOWN, SURROUNDINGS

SIZE = 100


def document(*anchors: str | None, name: str = "a.md") -> pl.DataFrame:
    """A document of chunks of two lines and ``SIZE`` characters, one after the other."""
    rows = [
        {"corpus": "docs", "document_key": name, "ordinal": n, "chunk_id": 10 * len(name) + n}
        | {"start_line": 2 * n + 1, "end_line": 2 * n + 2, "anchor": anchor}
        | {"text": f"{name} {n}\n".ljust(SIZE, ".")}
        for n, anchor in enumerate(anchors)
    ]
    return pl.DataFrame(rows, schema=SURROUNDINGS)


def hits(around: pl.DataFrame, *places: int) -> pl.DataFrame:
    """The chunks of ``around`` at ``places``, the best first."""
    rows = []
    for rank, place in enumerate(places):
        chunk = around.row(place, named=True)
        label = f"[docs: a.md:{chunk['start_line']}-{chunk['end_line']}]"
        url = f"https://x/a.md#L{chunk['start_line']}-L{chunk['end_line']}"
        rows.append(
            {"query_id": 0, "rank": rank, "score": 1.0 - rank / 100, "document_id": "a.md"}
            | {name: chunk[name] for name in ("corpus", "chunk_id", "text")}
            | {name: chunk[name] for name in ("start_line", "end_line")}
            | {"source_label": label, "source_url": url}
        )
    return pl.DataFrame(rows, schema=SHOWN)


def read(found: pl.DataFrame) -> list[list[int]]:
    """The places of each passage's chunks."""
    return [[part % 10 for part in parts] for parts in found.sort("rank")["parts"].to_list()]


def grown(around: pl.DataFrame, *places: int, **how: Any) -> pl.DataFrame:
    return whole_passages(hits(around, *places), around, **{"longest": 10 * SIZE, **how})


def test_the_best_hits_are_joined_whatever_their_length_and_others_up_to_a_limit() -> None:
    around = document("s > a", "s > b", "s > c", "s > d")
    assert read(grown(around, 1, 0, 3, 2, longest=SIZE, best=2)) == [[0, 1], [3], [2]]
    assert read(grown(around, 1, 0, 3, 2, longest=SIZE, best=4)) == [[0, 1, 2, 3]]
    assert read(grown(around, 1, 0, 3, 2, longest=SIZE)) == [[1], [0], [3], [2]]
    same = document(*"aaaa")
    assert read(grown(same, 1, 0, 3, 2, longest=3 * SIZE)) == [[0, 1, 2], [3]]


@pytest.mark.parametrize(
    ("anchors", "joined"),
    [
        (("a", "b"), False),
        (("s > a", "t > a"), False),
        (("s > a", "s > b"), True),
        (("Lock.acquire", "Lock.release"), True),
        (("s", "s > a"), True),
        ((None, "s"), True),
    ],
)
def test_the_best_hits_of_two_sections_are_joined_within_one_chapter_and_others_never(
    anchors: tuple[str | None, str | None], joined: bool
) -> None:
    around = document(*anchors)
    apart = [[1], [0]]
    assert read(grown(around, 1, 0, best=2)) == ([[0, 1]] if joined else apart)
    assert read(grown(around, 1, 0, best=1)) == apart


def test_passages_that_go_on_in_one_section_follow_one_another_at_the_place_of_the_best() -> None:
    around = document(*"aabbaa")
    found = grown(around, 1, 3, 0, 2, 5, longest=SIZE)
    assert read(found) == [[0], [1], [2], [3], [5]]
    assert found["rank"].to_list() == [0, 1, 2, 3, 4]
    assert read(grown(around, 3, 5, 2, longest=SIZE)) == [[2], [3], [5]]


def test_a_passage_from_the_middle_of_a_definition_has_its_signature_above_it() -> None:
    signatures = ["class Lock:", "class Lock:\n    def release(self):", None]
    around = document(*"aaa").with_columns(signatures=pl.Series(signatures, dtype=pl.String))
    found = grown(around, 0, 1, 2)
    assert read(found) == [[0, 1, 2]]
    assert found["text"][0].startswith(f"class Lock:\n...\n{around['text'][0]}\n")
    assert "release" not in found["text"][0]  # which the passage has from its first line on
    alone = grown(around, 1)
    assert alone["text"][0] == f"{signatures[1]}\n...\n{around['text'][1]}"
    assert alone["source_label"][0] == "[docs: a.md:3-4]"


def test_a_signature_stands_above_the_best_passage_under_it_alone() -> None:
    signatures = pl.Series(["class Lock:"] * 5, dtype=pl.String)
    found = grown(document(*"abcde").with_columns(signatures=signatures), 3, 0)
    assert [text.startswith("class Lock:") for text in found["text"]] == [True, False]


def test_sections_of_two_releases_stay_apart() -> None:
    around = document("s > a", "s > b", "s > b")
    versions = around.with_columns(version=pl.Series(["2.0", "2.0", "1.0"]))
    how = {"grown": 3, "longest_grown": 9 * SIZE, "best": 3}
    assert read(grown(versions, 1, 2, 0, **how)) == [[0, 1], [2]]


def test_neighbours_are_one_passage_in_the_documents_order_at_the_best_ones_place() -> None:
    around = document(*"aaabbb")
    found = grown(around, 2, 5, 1)
    assert read(found) == [[1, 2], [5]]
    assert found["rank"].to_list() == [0, 1]
    assert found["chunk_id"].to_list() == [42, 45]
    assert found["text"][0] == around["text"][1] + "\n" + around["text"][2]
    assert found["source_label"][0] == "[docs: a.md:3-6]"
    assert found["source_url"][0] == "https://x/a.md#L3-L6"
    assert found.select("start_line", "end_line").row(0) == (3, 6)


def test_what_newer_versions_lack_does_not_grow_into_outdated_text() -> None:
    around = document(*"bbbbb")
    old = hits(around, 2).with_columns(last_version=pl.lit("1.0"))
    found = whole_passages(old, around, longest=SIZE, grown=1, longest_grown=9 * SIZE)
    assert read(found) == [[2]]


def test_what_comes_before_goes_in_first_and_no_passage_is_too_long() -> None:
    around = document(*"bbbbb")
    assert read(grown(around, 2, grown=1, longest_grown=2 * SIZE)) == [[1, 2]]
    assert read(grown(around, 2, grown=1, longest_grown=4 * SIZE)) == [[0, 1, 2, 3]]
    assert read(grown(around, 2, 3, 1, longest=2 * SIZE)) == [[1, 2], [3]]


def test_a_passage_that_is_not_known_any_more_stays_as_it_is() -> None:
    around = document(*"aa")
    found = whole_passages(hits(around, 0, 1), around.clear(), longest=10 * SIZE)
    assert read(found) == [[0], [1]]
    assert found.drop("parts").equals(hits(around, 0, 1))


@given(
    st.lists(st.sampled_from("ab"), min_size=1, max_size=10),
    st.data(),
    st.integers(0, 12),
    st.integers(0, 4),
)
def test_every_hit_is_in_one_passage_and_no_text_is_there_twice(
    anchors: list[str], data: st.DataObject, longest: int, best: int
) -> None:
    around = document(*anchors)
    chosen = st.lists(st.integers(0, len(anchors) - 1), min_size=1, unique=True)
    places = data.draw(chosen)
    how = {"longest": longest * SIZE, "grown": best, "longest_grown": longest * SIZE}
    passages = read(grown(around, *places, **how))
    chunks = [part for parts in passages for part in parts]
    assert len(chunks) == len(set(chunks))
    assert set(places) <= set(chunks)
    assert all(parts == list(range(parts[0], parts[-1] + 1)) for parts in passages)
    assert all(len(parts) <= max(longest, 1) for parts in passages)
