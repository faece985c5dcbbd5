from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup.newest import deduplicate_near_duplicates
from operators.frames import CHUNKS

DAY = datetime(2020, 1, 1, tzinfo=UTC)
VECTORS = st.sampled_from(
    [
        None,
        [0.0, 0.0],
        [math.nan, 1.0],
        *([math.cos(a), math.sin(a)] for a in (0, 0.1, 0.3, 0.35, 2)),
    ]
)
ROWS = st.lists(st.tuples(VECTORS, st.integers(0, 3), st.none() | st.integers(0, 3)), max_size=12)


def chunks(rows: list[tuple[list[float] | None, int, int | None]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "chunk_id": number, "corpus": "docs", "repo": "", "document_id": f"d{document}",
                "doc_date": None if day is None else DAY + timedelta(day), "embedding": vector,
                "text": f"text {number}",
            }
            for number, (vector, document, day) in enumerate(rows)
        ],
        schema={c: t for c, t in CHUNKS.items() if c in _COLUMNS},
    )  # fmt: skip


_COLUMNS = {"chunk_id", "corpus", "repo", "document_id", "doc_date", "embedding", "text"}


def near(one: dict[str, Any], two: dict[str, Any]) -> bool:
    a, b = one["embedding"], two["embedding"]
    if a is None or b is None or not all(math.isfinite(x) for x in a + b):
        return False
    if not any(a) or not any(b):
        return False
    cosine = sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)
    return bool(one["document_id"] != two["document_id"] and cosine >= 0.95)


def stays(frame: pl.DataFrame) -> list[int]:
    return deduplicate_near_duplicates(frame)["chunk_id"].to_list()


@given(ROWS, st.randoms(use_true_random=False))
def test_the_same_stay_whatever_order_they_come_in(rows: list[Any], chance: Any) -> None:
    frame = chunks(rows)
    places = list(range(len(frame)))
    chance.shuffle(places)
    assert set(stays(frame)) == set(stays(frame[places]))


@given(ROWS)
def test_what_stays_keeps_its_order(rows: list[Any]) -> None:
    assert stays(chunks(rows)) == sorted(stays(chunks(rows)))


@given(ROWS)
def test_what_goes_has_a_near_duplicate_of_its_date_or_later_that_stays(rows: list[Any]) -> None:
    frame = chunks(rows)
    by_id = {row["chunk_id"]: row for row in frame.iter_rows(named=True)}
    kept = [by_id[n] for n in stays(frame)]
    oldest = DAY - timedelta(1)
    for row in by_id.values():
        if row not in kept:
            date = row["doc_date"] or oldest
            assert any(near(row, k) and (k["doc_date"] or oldest) >= date for k in kept)
    for one in kept:
        assert not any(near(one, two) for two in kept)


def test_of_chunks_without_a_date_the_smaller_id_stays() -> None:
    assert stays(chunks([([1.0, 0.0], 1, None), ([1.0, 0.0], 2, None)])) == [0]
