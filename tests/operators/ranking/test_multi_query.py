"""Several texts of one question: their lists fused."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import TEXT_HITS, TEXT_LISTS, VECTOR_HITS, VECTOR_LISTS, check, empty
from operators.ranking.multi_query import fuse_texts

Row = tuple[int, int, int, int, float]  # query_id, text_no, chunk_id, rank, value

lists = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.permutations(range(6)), st.integers(0, 6)),
    max_size=8,
    unique_by=lambda one: one[:2],
).map(
    lambda found: [
        (query, text, chunk, rank, rank / 8 + text / 100)
        for query, text, chunks, size in sorted(found, key=lambda one: one[:2])
        for rank, chunk in enumerate(chunks[:size])
    ]
)  # a search returns its lists by query and text


def expected(rows: list[Row], better: object) -> list[tuple[int, int, int, float]]:
    out = []
    for query in sorted({row[0] for row in rows}):
        scores: dict[int, float] = {}
        ranks: dict[int, int] = {}
        values: dict[int, float] = {}
        for _, _, chunk, rank, value in sorted(row for row in rows if row[0] == query):
            scores[chunk] = scores.get(chunk, 0.0) + 1 / (60 + rank)
            ranks[chunk] = min(ranks.get(chunk, rank), rank)
            values[chunk] = better(values.get(chunk, value), value)  # type: ignore[operator]
        order = sorted(scores, key=lambda c: (-scores[c], ranks[c], c))
        out += [(query, chunk, rank, values[chunk]) for rank, chunk in enumerate(order)]
    return out


@given(lists)
def test_lists_of_several_texts_fuse_by_reciprocal_rank(rows: list[Row]) -> None:
    near = fuse_texts(pl.DataFrame(rows, schema=VECTOR_LISTS, orient="row"), "distance")
    check(near, VECTOR_HITS, "vector_hits")
    assert near.rows() == expected(rows, min)
    words = fuse_texts(pl.DataFrame(rows, schema=TEXT_LISTS, orient="row"), "score")
    check(words, TEXT_HITS, "text_hits")
    assert words.rows() == expected(rows, max)


@given(lists)
def test_a_question_with_one_text_keeps_its_list_in_any_company(rows: list[Row]) -> None:
    alone = [row for row in rows if row[0] == 0 and row[1] == 0]
    others = [row for row in rows if row[0] != 0]
    spread = [(q, t, c, 2 * r, v) for q, t, c, r, v in alone]  # ranks with gaps stay too
    frame = pl.DataFrame([*spread, *others], schema=VECTOR_LISTS, orient="row")
    found = fuse_texts(frame, "distance").filter(query_id=0)
    assert found.rows() == [(q, c, r, v) for q, _, c, r, v in spread]


def test_no_list_gives_no_hit() -> None:
    assert fuse_texts(empty(VECTOR_LISTS), "distance").is_empty()
