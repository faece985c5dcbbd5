"""Several texts of one question: their lists fused."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import TEXT_HITS, TEXT_LISTS, VECTOR_HITS, VECTOR_LISTS, check
from operators.ranking.multi_query import fuse_texts

Row = tuple[int, int, int, int, float]  # query_id, text_no, chunk_id, rank, value

DEPTHS = {"code": 50}

lists = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.permutations(range(6)), st.integers(0, 6)),
    max_size=8,
    unique_by=lambda one: one[:2],
).map(
    lambda found: [
        (query, text, chunk, rank, 0.9 / (rank + text + 1))
        for query, text, chunks, size in sorted(found, key=lambda one: one[:2])
        for rank, chunk in enumerate(chunks[:size])
    ]
)  # a search returns its lists by query and text; the values are text scores or similarities


def vector_lists(rows: list[Row]) -> pl.DataFrame:
    near = [(*row[:4], 1 - row[4]) for row in rows]
    return in_corpus(pl.DataFrame(near, schema=VECTOR_LISTS, orient="row"))


def text_lists(rows: list[Row], corpus: str = "code") -> pl.DataFrame:
    return in_corpus(pl.DataFrame(rows, schema=TEXT_LISTS, orient="row"), corpus)


def in_corpus(lists: pl.DataFrame, corpus: str = "code") -> pl.DataFrame:
    return lists.with_columns(corpus=pl.lit(corpus))


def expected(rows: list[Row], depth: int, fraction: float) -> dict[tuple[int, int], float]:
    """The value of each query and chunk, for queries of more than one text."""
    out = {}
    for query in {row[0] for row in rows}:
        texts: dict[int, dict[int, float]] = {}
        for _, text, chunk, _, value in (row for row in rows if row[0] == query):
            texts.setdefault(text, {})[chunk] = value
        best = max(max(found.values()) for found in texts.values())
        for chunk in {chunk for found in texts.values() for chunk in found}:
            shares = []
            for found in texts.values():
                lacking = fraction * min(len(found) / depth, 1) * min(found.values())
                shares.append(found.get(chunk, lacking) / max(found.values()))
            if len(texts) > 1:
                out[query, chunk] = best * sum(shares) / len(shares)
    return out


@given(lists, st.integers(1, 8), st.floats(0, 1))
def test_a_chunk_has_the_mean_of_its_shares_of_each_texts_best(
    rows: list[Row], depth: int, fraction: float
) -> None:
    how = {"depths": {"code": depth}, "missing_score_fraction": fraction}
    values = expected(rows, depth, fraction)
    near = check(fuse_texts(vector_lists(rows), "distance", **how), VECTOR_HITS, "vector_hits")
    words = check(fuse_texts(text_lists(rows), "score", **how), TEXT_HITS, "text_hits")
    for fused, raw in ((near, 1 - near["distance"]), (words, words["score"])):
        found = {(q, c): v for q, c, v in zip(*fused[["query_id", "chunk_id"]], raw, strict=True)}
        assert values == pytest.approx({key: found[key] for key in values})
        for (_,), one in fused.with_columns(raw=raw).group_by(["query_id"]):
            assert one["rank"].to_list() == list(range(one.height))
            assert one["raw"].is_sorted(descending=True)


def test_a_hit_far_ahead_for_one_text_beats_one_in_the_middle_of_both() -> None:
    title = [(0, 0, chunk, chunk, value) for chunk, value in enumerate((9.0, 2.0, 1.9))]
    prose = [(0, 1, chunk, rank, value) for rank, (chunk, value) in enumerate([(3, 4.0), (1, 1.0)])]
    found = fuse_texts(text_lists([*title, *prose]), "score", DEPTHS)
    assert found["chunk_id"].to_list()[:2] == [0, 3]  # ranks alone put 1 first


def test_a_chunk_keeps_the_highest_coverage_of_any_text() -> None:
    rows = [(0, 0, 1, 0, 8.0), (0, 0, 2, 1, 6.0), (0, 1, 2, 0, 2.0)]
    known = text_lists(rows).with_columns(coverage=pl.Series([0.5, 0.25, 0.75]))
    found = fuse_texts(known, "score", DEPTHS)
    assert found.columns == [*TEXT_HITS, "coverage"]
    assert dict(found["chunk_id", "coverage"].iter_rows()) == {1: 0.5, 2: 0.75}


def test_distances_that_are_no_numbers_and_opposite_vectors_count_nothing() -> None:
    rows = [(0, 0, 1, 0, math.nan), (0, 1, 2, 0, -0.5), (0, 1, 1, 1, -0.75)]
    near = fuse_texts(vector_lists(rows), "distance", DEPTHS, missing_score_fraction=0.5)
    assert near["distance"].to_list() == [1.0, 1.0]


@given(lists)
def test_a_question_with_one_text_keeps_its_list_in_any_company(rows: list[Row]) -> None:
    alone = [row for row in rows if row[0] == 0 and row[1] == 0]
    others = [row for row in rows if row[0] != 0]
    spread = [(q, t, c, 2 * r, v) for q, t, c, r, v in alone]  # ranks with gaps stay too
    frame = in_corpus(pl.DataFrame([*spread, *others], schema=VECTOR_LISTS, orient="row"))
    found = fuse_texts(frame, "distance", DEPTHS).filter(query_id=0)
    assert found.rows() == [(q, "code", c, r, v) for q, _, c, r, v in spread]


@given(st.lists(lists, min_size=2, max_size=3))
def test_a_corpus_has_the_same_bits_alone_and_beside_others(of_corpora: list[list[Row]]) -> None:
    depths = {"wiki": 2, "code": 4, "review": 50}
    frames = [text_lists(rows, name) for name, rows in zip(depths, of_corpora, strict=False)]
    how: dict[str, Any] = {"depths": depths, "missing_score_fraction": 0.5}
    together = fuse_texts(pl.concat(frames), "score", **how)
    for frame, name in zip(frames, depths, strict=False):
        assert together.filter(corpus=name).rows() == fuse_texts(frame, "score", **how).rows()
