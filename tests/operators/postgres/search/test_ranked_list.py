from __future__ import annotations

import pytest

from operators.frames import TEXT_LISTS, VECTOR_LISTS, check
from operators.postgres.search.ranked_list import ranked_lists

TEXTS = [(0, 0), (0, 1), (3, 0)]


def test_each_text_has_its_list_the_nearest_first_and_ties_by_chunk() -> None:
    text, chunk = [2, 0, 0, 0, 1], [9, 5, 4, 6, 7]
    given = zip(text, chunk, [0.1, 0.2, 0.2, 0.1, 0.3], strict=True)
    found = ranked_lists([(*TEXTS[n], *row) for n, *row in given], "distance")
    check(found, VECTOR_LISTS, "lists")
    rows = found.select("query_id", "text_no", "chunk_id", "rank").rows()
    assert rows == [(0, 0, 6, 0), (0, 0, 4, 1), (0, 0, 5, 2), (0, 1, 7, 0), (3, 0, 9, 0)]


def test_the_highest_score_comes_first() -> None:
    found = ranked_lists([(0, 0, 1, 0.5), (0, 0, 2, 1.5)], "score")
    check(found, TEXT_LISTS, "lists")
    assert found["chunk_id"].to_list() == [2, 1]


@pytest.mark.parametrize("other", [0.0, 1.9])
def test_a_zero_vector_is_as_far_as_can_be(other: float) -> None:
    found = ranked_lists([(0, 0, 1, float("nan")), (0, 0, 2, other)], "distance")
    assert found.select("chunk_id", "distance").rows() == [(2, other), (1, 2.0)]
